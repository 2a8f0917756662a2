"""Logging in with a key, logging out, and saying what there is: never a secret in what is returned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.credentials import CredentialFile, Stored
from wisp.host.models import Service, services
from wisp.host.secrets import MissingKey, store_in_keyring
from wisp.messages.ids import iso

MOST_KEY = 16_384


class Standing(msgspec.Struct, frozen=True):
    """What is known of one provider's credentials."""

    provider: str
    source: str
    """Where the credential that a run would use comes from; empty for none."""
    kind: str = "key"
    expires: str = ""
    """RFC 3339, for a token whose end is known."""
    hidden: str = ""
    """A stored credential that is not used because `source` wins."""


class Keys:
    """The credentials of one configuration."""

    def __init__(self, configured: Configured, env: Mapping[str, str]) -> None:
        self.services = services(configured.settings, env)
        self.file = CredentialFile(configured.paths.credentials_file)
        self._env = env

    def service(self, name: str) -> Service:
        """The provider of that name.

        Raises:
            OpenFailed: there is none; what was given is not repeated, it may be a key.
        """
        found = self.services.get(name)
        if found is None:
            known = ", ".join(sorted(self.services))
            raise OpenFailed(f"there is no provider of that name; known are {known}", 2)
        return found

    def store(self, provider: str, key: str, *, in_keyring: bool = False) -> str:
        """Store a key; where it went.

        Raises:
            OpenFailed: it cannot be a key, or cannot be stored.
        """
        service = self.service(provider)
        key = key.strip()
        if not key:
            raise OpenFailed("no key was given; nothing is stored", 2)
        if len(key) > MOST_KEY or not key.isascii() or not key.isprintable() or " " in key:
            raise OpenFailed(
                "that cannot be a key: a key is one word of printable ASCII; nothing is stored", 2
            )
        stored = Stored("keyring") if in_keyring else Stored("key", key)
        try:
            if in_keyring:
                store_in_keyring(service.name, key)
            self.file.put(service.name, stored)
        except MissingKey as exc:
            raise OpenFailed(str(exc)) from None
        except OSError as exc:
            raise _unusable(self.file, exc) from None
        return "the system's keyring" if in_keyring else self.file.path

    def forget(self, provider: str) -> tuple[str, Stored]:
        """Forget what is stored for `provider`, or for the only one there is when it is empty; its name, and
        what was forgotten.

        Raises:
            OpenFailed: nothing is stored for it, or it is not clear which is meant.
        """
        found = self._stored()
        name = provider or (next(iter(found)) if len(found) == 1 else "")
        if not name:
            names = ", ".join(sorted(found))
            raise OpenFailed(f"say which: {names}" if found else "nothing is stored", 2 if found else 1)
        if name not in found:
            self.service(name)  # a name nobody knows is the clearer complaint
            raise OpenFailed(f"nothing is stored for {name}{self._elsewhere(name)}", 1)
        try:
            if found[name].kind == "keyring":
                store_in_keyring(name, None)
            self.file.remove(name)
        except MissingKey as exc:
            raise OpenFailed(str(exc)) from None
        except OSError as exc:
            raise _unusable(self.file, exc) from None
        return name, found[name]

    def standings(self) -> list[Standing]:
        """Every provider that has a credential, or has been configured to want one.  Runs no command."""
        stored = self._stored()
        found = []
        for name, service in self.services.items():
            source = self._outside(service)
            login = stored.get(name)
            if login is None:
                if source or (service.configured and (service.key_variables or service.oauth)):
                    found.append(Standing(name, source))
                continue
            place = "the system's keyring" if login.kind == "keyring" else self.file.path
            ends = iso(login.expires_at) if login.expires_at is not None else ""
            kind = "token" if login.kind == "oauth" else "key"
            found.append(
                Standing(name, source, hidden=place) if source else Standing(name, place, kind, ends)
            )
        found += [
            Standing(name, self.file.path, hidden="no provider of this name is configured")
            for name in stored
            if name not in self.services
        ]
        return found

    def rows(self) -> list[dict[str, Any]]:
        """The same, plain."""
        return [msgspec.to_builtins(standing) for standing in self.standings()]

    def _outside(self, service: Service) -> str:
        for variable in service.key_variables:
            if self._env.get(variable, "").strip():
                return f"environment variable {variable}"
        return f"api_key_command {service.key_command[0]!r}" if service.key_command else ""

    def _elsewhere(self, name: str) -> str:
        source = self._outside(self.services[name])
        return f"; its key comes from the {source}" if source.startswith("env") else ""

    def _stored(self) -> dict[str, Stored]:
        if not os.path.lexists(self.file.path):
            return {}
        try:
            return self.file.read()
        except OSError as exc:
            raise _unusable(self.file, exc) from None


def _unusable(file: CredentialFile, exc: OSError) -> OpenFailed:
    return OpenFailed(f"{exc.filename or file.path}: {exc.strerror or exc}")
