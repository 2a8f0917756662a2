"""Credentials: found, handed on wrapped, never printed.

In this order: the environment, the provider's `api_key_command`, what `wisp login` stored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from wisp.host.credentials import Stored

KEYRING_SERVICE = "wisp"


class MissingKey(Exception):
    """A credential is needed and not there; the message says how to give one."""


class Logins(Protocol):
    """What was stored by earlier logins."""

    def names(self) -> Collection[str]:
        """The providers there are logins for.

        Raises:
            MissingKey: the store cannot be used.
        """
        ...

    def find(self, provider: str) -> Stored | None:
        """The login of one provider, its secret included.

        Raises:
            MissingKey: the store cannot be used, or the keyring does not give the secret out.
        """
        ...


class NoLogins:
    """Nothing is stored."""

    def names(self) -> Collection[str]:
        """None."""
        return ()

    def find(self, provider: str) -> Stored | None:
        """None."""
        return None


class StoredLogins:
    """The file of credentials and, for those that it says are there, the system's keyring."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._read: dict[str, Stored] | None = None

    def names(self) -> Collection[str]:
        """Without opening the keyring."""
        return self._all().keys()

    def find(self, provider: str) -> Stored | None:
        """The keyring library is loaded only for a login that is in it."""
        stored = self._all().get(provider)
        if stored is None or stored.kind != "keyring":
            return stored
        import msgspec

        return msgspec.structs.replace(stored, kind="key", secret=keyring_secret(provider))

    def _all(self) -> dict[str, Stored]:
        if self._read is None:
            if not os.path.lexists(self._path):
                return {}
            from wisp.host.credentials import CredentialFile

            try:
                self._read = CredentialFile(self._path).read()
            except OSError as exc:
                raise MissingKey(f"{self._path}: {exc.strerror or exc}") from None
        return self._read


def keyring_secret(provider: str) -> str:
    """What the system's keyring holds for `provider`.

    Raises:
        MissingKey: the extra is not installed, or there is no keyring, or it holds nothing.
    """
    keyring, errors = _keyring()
    try:
        found = keyring.get_password(KEYRING_SERVICE, provider)
    except errors as exc:
        raise MissingKey(f"the keyring does not open: {type(exc).__name__}") from None
    if not found:
        raise MissingKey(f"the keyring holds no key of {provider} any more; run 'wisp login {provider}'")
    return str(found)


def store_in_keyring(provider: str, secret: str | None) -> None:
    """Put a secret into the system's keyring, or take it out with None.

    Raises:
        MissingKey: it cannot be done.
    """
    keyring, errors = _keyring()
    try:
        if secret is not None:
            keyring.set_password(KEYRING_SERVICE, provider, secret)
        elif keyring.get_password(KEYRING_SERVICE, provider) is not None:
            keyring.delete_password(KEYRING_SERVICE, provider)
    except errors as exc:
        raise MissingKey(f"the keyring refuses: {type(exc).__name__}; store it without --keyring") from None


def _keyring() -> tuple[Any, type[Exception]]:
    try:
        import keyring
        import keyring.errors
    except ImportError:
        raise MissingKey("the keyring needs its extra: pip install 'wisp-agent[keyring]'") from None
    return keyring, keyring.errors.KeyringError


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
