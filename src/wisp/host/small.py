"""What the small commands need, answered from settings and stored files; nothing is built or started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import Configured, configure, rules_of
from wisp.host.doctor import examine
from wisp.host.library import SessionContent, TrustBook, show_session
from wisp.host.paths import environment
from wisp.host.project import read_project
from wisp.host.settings import Settings
from wisp.host.showing import named
from wisp.host.snapshot import McpServer
from wisp.host.undo import FileUndo
from wisp.messages.ids import SystemClock
from wisp.messages.tool import Effect
from wisp.policy.decide import Policy, decide

if TYPE_CHECKING:
    from wisp.host.exchanging import Arrived, Exported
    from wisp.host.replaying import Answered, Compared, Rebuilt
    from wisp.host.scrubbing import ScrubReport
    from wisp.host.store import SessionStore


class HostLibrary:
    """Answers of one moment, from the folder it is asked in."""

    def __init__(self, request: OpenRequest) -> None:
        self._request = request
        self._clock = SystemClock()
        self._env = environment()

    def _configured(self) -> Configured:
        return configure(self._request, self._env, self._clock)

    def store(self) -> SessionStore:
        """The stored sessions."""
        from wisp.host.store import SessionStore

        return SessionStore(self._configured().session_base, self._clock)

    def folder(self) -> str:
        """The folder this is asked in."""
        return self._configured().cwd

    def session(self, prefix: str, last: int = 0) -> SessionContent:
        """One session by the beginning of its id, or its last messages."""
        return show_session(self._configured().session_base, prefix, last)

    def scrub(self, prefix: str, *, do_it: bool) -> ScrubReport:
        """Credentials in one stored session: counted, and with `do_it` replaced."""
        from wisp.host.scrubbing import scrub_session

        return scrub_session(self._configured(), self._env, prefix, do_it=do_it)

    def export(self, prefix: str, form: str, *, scrub: bool) -> Exported:
        """One stored session in another format; with `scrub` without credentials."""
        from wisp.host.exchanging import export_session

        return export_session(self._configured(), self._env, prefix, form, scrub=scrub)

    def import_session(self, file: str, source: str = "") -> Arrived:
        """A session made of another agent's file."""
        from wisp.host.exchanging import import_session

        return import_session(self._configured(), self._clock, file, source)

    def rebuilt(self, prefix: str, entry: str = "") -> Iterator[Rebuilt]:
        """The requests of a session once more, beside what was sent; with `entry` the one made there."""
        from wisp.host.replaying import rebuilt

        return rebuilt(self._configured(), prefix, entry)

    def ask_other(self, one: Rebuilt) -> Answered:
        """What the configured model says to a request that another was asked."""
        from wisp.host.replaying import ask_other

        return ask_other(self._request, self._configured(), self._env, self._clock, one)

    def compared(self, prefix: str, file: str) -> Iterator[Compared]:
        """Every call of a session under the permissions of the settings in `file`."""
        from wisp.host.replaying import compared

        return compared(self._configured(), prefix, file)

    def models(self, words: str = "", *, all_: bool = False) -> list[dict[str, Any]]:
        """Models that settings name, that a running local server offers, and the catalogue's of vendors
        whose key is there; with `words` or `all_` of every vendor.  A row has every word of `words`."""
        from wisp.host.catalogue import models

        return models(self._configured(), self._env, words, all_=all_)

    def catalogue_note(self) -> str:
        """Why the catalogue that was fetched is not used, where `models` found out that it cannot be."""
        from wisp.providers.catalog import note

        return note(self._configured().paths.catalogue_file)

    def refresh_models(self, address: str) -> str:
        """Fetch a newer catalogue, from models.dev or from `address`; what it holds."""
        from wisp.host.refresh import refresh

        return refresh(self._configured(), self._env, self._clock, address)

    def providers(self) -> list[str]:
        """The names of every provider that can be logged in to."""
        from wisp.host.keys import Keys

        return sorted(
            name for name, found in Keys(self._configured(), self._env).services.items() if not found.local
        )

    def offers_login(self, provider: str) -> bool:
        """Whether `provider` is logged in to by agreeing somewhere, rather than with a key."""
        from wisp.host.keys import Keys

        return Keys(self._configured(), self._env).service(provider).oauth is not None

    def store_key(self, provider: str, key: str, *, in_keyring: bool) -> str:
        """Store a key; where it went, and what wins over it."""
        from wisp.host.keys import Keys

        keys = Keys(self._configured(), self._env)
        place = keys.store(provider, key, in_keyring=in_keyring)
        winning = [row.source for row in keys.standings() if row.provider == provider and row.hidden]
        note = f"; the {winning[0]} wins over it" if winning else ""
        return f"the key of {provider} is in {place}{note}"

    def login(self, provider: str, show: Callable[[str], None], *, device: bool) -> str:
        """Log in by agreeing in a browser, or with `device` on another machine; where the token is kept."""
        from wisp.host.login import log_in

        return log_in(self._configured(), self._env, self._clock, provider, show, device=device)

    def logout(self, provider: str) -> str:
        """Forget what is stored; where it was a login and the service can be told, tell it."""
        from wisp.host.keys import Keys

        keys = Keys(self._configured(), self._env)
        name, stored = keys.forget(provider)
        told = "the service itself was not told"
        service = keys.services.get(name)
        if stored.kind == "oauth" and service is not None and service.oauth is not None:
            from wisp.host.login import revoke

            told = revoke(service, stored, self._env, self._clock)
        return f"what was stored for {name} is gone; {told}"

    def auth_status(self) -> list[dict[str, Any]]:
        """Which provider's credential comes from where; never a credential."""
        from wisp.host.keys import Keys

        return Keys(self._configured(), self._env).rows()

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
            return self._allow(book, path)
        elif verb == "revoke":
            book.decide(path, trusted=False)
        return f"{named(path)}: {book.state(path)}"

    def _allow(self, book: TrustBook, path: str) -> str:
        """Trust a folder, and with it exactly the executing settings it has now."""
        project = read_project(path)
        book.decide(path, trusted=True, executing=project.digest)
        said = f"{named(path)}: {book.state(path)}"
        for name, value in sorted(project.executing.items()):
            said += f"\nits settings may: {named(name)} = {value!r}"
        return said

    def hooks(self) -> list[dict[str, str]]:
        """Each hook that is run here: its event, its matcher, its command, and where it comes from."""
        from wisp.host.hookrun import listed

        return listed(self._configured().settings.hooks)

    def judge(self, command: str) -> tuple[str, str]:
        """What would become of a shell command here without a sandbox, as `(verdict, reason)`."""
        from wisp.tools.reached import reached
        from wisp.workspace.root import Workspace

        configured = self._configured()
        policy = Policy(configured.settings.permission_mode, configured.cwd, rules_of(configured))
        workspace = Workspace(configured.cwd)
        try:
            found = reached(workspace, command)
        finally:
            workspace.close()
        outside = (Effect("read", path, inside=False) for path in found.outside)
        decision = decide("bash", (Effect("execute", command, reaches=found.hidden), *outside), policy)
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

    def skills(self) -> tuple[list[dict[str, str]], tuple[str, ...]]:
        """Skills and commands that can be used here, and what was odd about any."""
        from wisp.host.instructions import trusted_folders
        from wisp.host.skills import find, places

        configured = self._configured()
        folders = trusted_folders(configured, self._clock)
        found = find(places(folders, configured.paths.home, configured.paths.config))
        return [
            {
                "name": skill.name,
                "kind": skill.kind,
                "description": skill.description,
                "arguments": skill.hint,
                "source": skill.source,
            }
            for skill in found.all()
        ], found.notes

    def validate_skill(self, path: str) -> list[str]:
        """What is wrong with a skill by the specification; empty for nothing."""
        from wisp.host.skills import validate

        return validate(path)

    def undo(self, *, redo: bool, one_turn: bool, prefix: str) -> FileUndo:
        """An undo or redo of this folder's newest session, or of the one that `prefix` names."""
        return FileUndo(self._configured(), self._clock, redo=redo, one_turn=one_turn, prefix=prefix)

    def mcp_servers(self) -> tuple[list[dict[str, Any]], list[str]]:
        """Every MCP server that is configured or could be, and what is odd about any."""
        from wisp.host import mcpbook

        configured = self._configured()
        said = [*mcpbook.problems_of(configured), mcpbook.note(configured)]
        return mcpbook.listed(configured, self._clock), [line for line in said if line]

    def add_mcp_server(self, name: str, table: Mapping[str, Any]) -> str:
        """Add one to the user's settings; the file."""
        from wisp.host import mcpbook

        return mcpbook.add(self._configured(), name, table)

    def remove_mcp_server(self, name: str) -> str:
        """Take one out of the user's settings; the file."""
        from wisp.host import mcpbook

        return mcpbook.remove(self._configured(), name)

    def try_mcp_server(
        self, name: str, show: Callable[[str], None] | None = None
    ) -> tuple[McpServer, list[tuple[str, str]], tuple[str, ...]]:
        """Start one and end it: its state, its tools with their words, what is odd.

        Args:
            show: takes the address at which to agree where it wants a login; None logs in nowhere.
        """
        from wisp.host import mcpbook

        return mcpbook.tried(self._configured(), self._env, self._clock, name, show)

    def forget_mcp_login(self, name: str) -> str:
        """Forget the login to one; what there was."""
        from wisp.host import mcpbook

        return mcpbook.logged_out(self._configured(), name)

    def config(self) -> list[dict[str, Any]]:
        """Every setting, its value and its origin."""
        resolved = self._configured().resolved
        rows = []
        for name in Settings.__struct_fields__:
            value = msgspec.to_builtins(getattr(resolved.settings, name))
            rows.append({"name": name, "value": value, "origin": resolved.origins.get(name, "built in")})
        return rows

    def set_setting(self, key: str, value: str | None) -> str:
        """Change one setting of the user's own; None takes it out.  What it is then."""
        from wisp.host.changing import set_setting

        return set_setting(self._configured().paths.settings_file, key, value)

    def settings_schema(self) -> dict[str, Any]:
        """JSON Schema of the settings file."""
        from wisp.host.changing import settings_schema

        return settings_schema()

    def settings_file(self) -> tuple[str, str]:
        """The user's settings file, and the editor that they want for it."""
        editor = self._env.get("VISUAL") or self._env.get("EDITOR") or "vi"
        return self._configured().paths.settings_file, editor

    def settings_problems(self) -> list[str]:
        """What is wrong in the settings as they are now."""
        return [str(problem) for problem in self._configured().resolved.problems]

    def doctor(self) -> list[dict[str, str]]:
        """What works here."""
        return [msgspec.to_builtins(finding) for finding in examine(self._configured())]
