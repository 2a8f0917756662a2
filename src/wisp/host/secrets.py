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
    """`env` for children: without provider keys and what else looks like a credential."""
    hidden = set(extra)
    return {name: value for name, value in env.items() if name not in hidden and not _looks_secret(name)}


def _looks_secret(name: str) -> bool:
    upper = name.upper()
    return upper.startswith("WISP_") or upper.endswith(_ENDINGS) or upper in _NAMES


_ENDINGS = ("_API_KEY", "_APIKEY", "_SECRET", "_SECRET_KEY", "_TOKEN", "_PASSWORD", "_PASSWD", "_ACCESS_KEY")
_NAMES = {"ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"}
