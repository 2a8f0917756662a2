"""Credentials: found, handed on wrapped, never printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


class MissingKey(Exception):
    """A credential is needed and not there; the message says how to give one."""


def find_key(
    env: Mapping[str, str],
    names: Sequence[str],
    command: Sequence[str],
    run: Callable[[Sequence[str]], str],
) -> str:
    """The key from the first set variable of `names`, else what `command` prints; empty if neither is given.

    Raises:
        MissingKey: the command failed or printed nothing.
    """
    for name in names:
        if value := env.get(name, "").strip():
            return value
    if not command:
        return ""
    try:
        key = run(command).strip()
    except OSError as exc:
        raise MissingKey(f"api_key_command {command[0]!r} failed: {exc}") from None
    if not key:
        raise MissingKey(f"api_key_command {command[0]!r} printed nothing")
    return key


def without_secrets(env: Mapping[str, str], extra: Sequence[str]) -> dict[str, str]:
    """`env` for children: without provider keys and what else looks like a credential, by name or by value.

    A variable that repeats a hidden value, whole or inside a longer text, is hidden too.
    """
    names = {name for name in env if name in extra or _looks_secret(name)}
    values = [env[name] for name in names if len(env[name]) >= _LONG and not name.upper().startswith("WISP_")]
    return {
        name: value
        for name, value in env.items()
        if name not in names and not any(secret in value for secret in values)
    }


def known_secrets(env: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Names and values of every credential this process knows: `extra`, and what the environment holds."""
    found = {name: value for name, value in extra.items() if value}
    for name, value in env.items():
        if value and not name.upper().startswith("WISP_") and _looks_secret(name):
            found.setdefault(name, value)
    return found


def _looks_secret(name: str) -> bool:
    upper = name.upper()
    return upper.startswith("WISP_") or upper.endswith(_ENDINGS) or upper in _NAMES


_LONG = 12
"""Shorter values are no keys, and would hide what only looks alike."""
_ENDINGS = (
    "API_KEY",
    "APIKEY",
    "SECRET",
    "SECRET_KEY",
    "PRIVATE_KEY",
    "ACCESS_KEY",
    "_TOKEN",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "_CREDENTIALS",
    "_PAT",
)
_NAMES = {"TOKEN", "PGPASSFILE", "MYSQL_PWD", "AWS_SESSION_TOKEN"}
