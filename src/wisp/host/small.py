"""What the small commands need, answered from settings and stored files; nothing is built or started."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured, configure, rules_of
from wisp.host.doctor import examine
from wisp.host.library import SessionContent, SessionInfo, TrustBook, list_sessions, show_session
from wisp.host.models import model_info, services
from wisp.host.paths import environment
from wisp.host.settings import Settings
from wisp.host.undo import FileUndo
from wisp.messages.ids import SystemClock
from wisp.messages.tool import Effect
from wisp.policy.decide import Policy, decide


class HostLibrary:
    """Answers of one moment, from the folder it is asked in."""

    def __init__(self, request: OpenRequest) -> None:
        self._request = request
        self._clock = SystemClock()
        self._env = environment()

    def _configured(self) -> Configured:
        return configure(self._request, self._env, self._clock)

    def sessions(self) -> list[SessionInfo]:
        """All sessions, newest first."""
        return list_sessions(self._configured().session_base)

    def session(self, prefix: str) -> SessionContent:
        """One session by the beginning of its id."""
        return show_session(self._configured().session_base, prefix)

    def models(self) -> list[dict[str, Any]]:
        """Models that settings name, and the catalogue's of vendors whose key is there."""
        from wisp.providers.catalog import catalog

        rows = []
        for service in services(self._configured().settings, self._env).values():
            has_key = any(self._env.get(name) for name in service.key_variables)
            names = list(service.models) or (
                [known.id for known in catalog().models.get(service.name, ())] if has_key else []
            )
            for name in names:
                info = model_info(service, name)
                rows.append(
                    {
                        "provider": service.name,
                        "model": name,
                        "context_window": info.context_window,
                        "max_output": info.max_output,
                        "price": msgspec.to_builtins(info.price),
                        "status": "key found" if has_key else "no key needed or found",
                    }
                )
        return rows

    def trust(self, verb: str, folder: str) -> str:
        """Show or change a decision about a folder."""
        path = os.path.realpath(folder or self._configured().cwd)
        book = TrustBook(self._configured().paths.trust_file, self._clock)
        if verb == "forget":
            book.forget(path)
        elif not os.path.isdir(path):
            raise OpenFailed(f"{folder!r} is not a folder", 2)
        elif verb == "allow":
            home = self._configured().paths.home
            if path in ("/", os.path.realpath(home), os.path.realpath("/tmp")):  # noqa: S108 - refused, not used
                raise OpenFailed(f"{path} is shared by many projects and cannot be trusted as one", 2)
            book.decide(path, trusted=True)
        elif verb == "revoke":
            book.decide(path, trusted=False)
        return f"{path}: {book.state(path)}"

    def judge(self, command: str) -> tuple[str, str]:
        """What would become of a shell command here, as `(verdict, reason)`; nothing is run."""
        configured = self._configured()
        policy = Policy(configured.settings.permission_mode, configured.cwd, rules_of(configured))
        decision = decide("bash", (Effect("execute", command),), policy)
        return decision.verdict, decision.reason

    def rules(self) -> list[tuple[str, str]]:
        """The standing rules, the mode first."""
        configured = self._configured()
        rules = rules_of(configured)
        return [
            ("mode", configured.settings.permission_mode),
            *(("deny", rule.text) for rule in rules.deny),
            *(("allow", rule.text) for rule in rules.allow),
        ]

    def undo(self, *, redo: bool, one_turn: bool, prefix: str) -> FileUndo:
        """An undo or redo of this folder's newest session, or of the one that `prefix` names."""
        return FileUndo(self._configured(), self._clock, redo=redo, one_turn=one_turn, prefix=prefix)

    def config(self) -> list[dict[str, Any]]:
        """Every setting, its value and its origin."""
        resolved = self._configured().resolved
        rows = []
        for name in Settings.__struct_fields__:
            value = msgspec.to_builtins(getattr(resolved.settings, name))
            rows.append({"name": name, "value": value, "origin": resolved.origins.get(name, "built in")})
        return rows

    def doctor(self) -> list[dict[str, str]]:
        """What works here."""
        return [msgspec.to_builtins(finding) for finding in examine(self._configured())]
