"""Hooks: a person's own commands around tool calls, in the protocol that Claude Code documented.

A hook gets one JSON object on its standard input.  Exit code 0 goes on, and its output may hold a JSON
decision; 2 blocks, and standard error is the reason; anything else is an error that is told and blocks
nothing.  Of several decisions the strictest counts: deny, then ask, then allow.  Knows nothing of how a
decision is enforced (`harness/gate.py`).
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from wisp.harness.ports import Advice
from wisp.host.settings import Hook, HookGroup
from wisp.host.snapshot import Snapshot
from wisp.loop.events import ErrorReported
from wisp.loop.settle import uncancelled
from wisp.messages.codec import clean
from wisp.messages.content import Text
from wisp.messages.ids import Clock
from wisp.messages.tool import ToolOutcome
from wisp.tools.base import Prepared
from wisp.tools.ledger import ReadLedger, Seen
from wisp.workspace import files
from wisp.workspace.errors import Refused
from wisp.workspace.process import quiet_environment, run
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

DEFAULT_TIMEOUT = 60.0
EVENTS = ("PreToolUse", "PostToolUse")
"""Those whose hooks are run."""
MOST_OUTPUT = 1 << 20
MOST_TOLD = 10_000
_MOST_FILE = 8 << 20
_STRICTNESS = ("deny", "ask", "allow")

_ELSEWHERE = {
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "bash": "Bash",
    "grep": "Grep",
    "find": "Glob",
    "ls": "LS",
    "task": "Task",
    "web_fetch": "WebFetch",
}
"""What scripts written for the documented protocol call our tools."""


class Ran(msgspec.Struct, frozen=True):
    """How one hook ended."""

    command: str
    code: int | None
    """None when it was ended, or could not be started."""
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """The JSON decision in its output; empty where there is none."""
        if self.code != 0 or not self.out.lstrip().startswith("{"):
            return {}
        try:
            found = msgspec.json.decode(self.out)
        except msgspec.DecodeError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def own(self) -> dict[str, Any]:
        """The part of the answer that belongs to the event."""
        found = self.answer.get("hookSpecificOutput")
        return found if isinstance(found, dict) else {}


class Hooks:
    """The hooks of one conversation; implements `harness.ports.CallHooks`.

    Args:
        groups: by event name, as the settings have them.
        workspace: where the hooks start; files they change are read through it.
        env: the environment of commands.
        ledger: what the model has seen of files.
        shell: what runs them.
    """

    def __init__(
        self,
        groups: Mapping[str, Sequence[HookGroup]],
        workspace: Workspace,
        env: Mapping[str, str],
        clock: Clock,
        ledger: ReadLedger,
        shell: str = "/bin/bash",
    ) -> None:
        self._groups = groups
        self._workspace = workspace
        self._clock = clock
        self._ledger = ledger
        self._shell = shell
        self._env = quiet_environment({**env, "CLAUDE_PROJECT_DIR": workspace.cwd})
        self.facts: Callable[[], dict[str, str]] = dict
        self.tell: Callable[[str], None] = lambda said: None

    @property
    def notes(self) -> list[str]:
        """A note for each event whose hooks are not run: a guard that silently is none would be worse."""
        run = " and ".join(EVENTS)
        return [
            f"hooks of {event} are not run; those of {run} are"
            for event in self._groups
            if event not in EVENTS
        ]

    def watch(self, snapshot: Callable[[], Snapshot], tell: Callable[[ErrorReported], None]) -> None:
        """Take the facts from a host, and tell it what fails."""

        def facts() -> dict[str, str]:
            now = snapshot()
            return {
                "session_id": now.session_id,
                "transcript_path": now.session_path,
                "permission_mode": now.permission_mode,
            }

        self.facts = facts
        self.tell = lambda said: tell(ErrorReported(said, "hook"))

    async def before_call(self, call_id: str, prepared: Prepared) -> Advice:
        """What the `PreToolUse` hooks say of a call."""
        sent = _input(prepared)
        more = {"tool_input": sent, "tool_use_id": call_id}
        said = [_advice(ran) for ran in await self._all("PreToolUse", prepared.tool, more)]
        found = min(said, key=_rank, default=Advice())
        changes = next((one.arguments for one in reversed(said) if one.arguments is not None), None)
        arguments = _changed(prepared.arguments, sent, changes) if changes is not None else None
        return Advice(found.verdict, found.reason, arguments)

    async def after_call(self, call_id: str, prepared: Prepared, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome with what the `PostToolUse` hooks said and did to the files of the call."""
        if outcome.is_error or not self._matching("PostToolUse", prepared.tool):
            return outcome
        paths = [effect.target for effect in prepared.effects if effect.kind == "write"]
        before = {path: self._bytes(path) for path in paths}
        answer = {"content": outcome.text, **outcome.details}
        more = {"tool_input": _input(prepared), "tool_response": answer, "tool_use_id": call_id}
        notes: list[str] = []
        for ran in await self._all("PostToolUse", prepared.tool, more):
            reason = ran.err if ran.code == 2 else ""
            if ran.answer.get("decision") == "block":
                reason = str(ran.answer.get("reason") or "")
            if ran.code == 2 or reason:
                notes.append(f"a hook objects: {_short(reason) or 'it gave no reason'}")
            if isinstance(context := ran.own.get("additionalContext"), str):
                notes.append(f"a hook adds: {_short(context)}")
        notes += [note for path in paths if (note := self._reread(path, before[path]))]
        if not notes:
            return outcome
        return msgspec.structs.replace(outcome, content=(*outcome.content, Text("\n".join(notes))))

    # -- running ------------------------------------------------------------------------------------------

    def _matching(self, event: str, tool: str) -> list[tuple[Hook, str]]:
        """Each hook once, with the name by which it is told of the tool."""
        found: dict[str, tuple[Hook, str]] = {}
        for group in self._groups.get(event, ()):
            if name := _named(group.matcher, tool):
                for hook in group.hooks:
                    found.setdefault(hook.command, (hook, name))
        return list(found.values())

    async def _all(self, event: str, tool: str, more: Mapping[str, Any]) -> list[Ran]:
        """Run all hooks of an event side by side; those that failed are told."""
        base = {**self.facts(), "cwd": self._workspace.cwd, "hook_event_name": event, **more}
        hooks = self._matching(event, tool)
        ended = await asyncio.gather(*(self._one(h, {**base, "tool_name": name}) for h, name in hooks))
        for ran in ended:
            if ran.code not in (0, 2):
                how = "was ended" if ran.code is None else f"failed with exit code {ran.code}"
                self.tell(f"the {event} hook {ran.command!r} {how}: {_short(ran.err)}")
        return ended

    async def _one(self, hook: Hook, payload: Mapping[str, Any]) -> Ran:
        stop = StopToken()
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(None, self._run, hook, msgspec.json.encode(payload), stop)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.stop()
            await uncancelled(asyncio.wait([work]))
            work.exception()
            raise

    def _run(self, hook: Hook, payload: bytes, stop: StopToken) -> Ran:
        out, err = bytearray(), bytearray()

        def into(buffer: bytearray) -> Callable[[bytes], bool]:
            def take(piece: bytes) -> bool:
                buffer.extend(piece)
                return len(buffer) <= MOST_OUTPUT

            return take

        limit = hook.timeout or DEFAULT_TIMEOUT
        folder = os.open(self._workspace.cwd, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with tempfile.TemporaryFile() as stdin:
                stdin.write(payload)
                stdin.seek(0)
                ending = run(
                    [self._shell, "-c", hook.command],
                    cwd=folder,
                    env=self._env,
                    timeout=limit,
                    stop=stop,
                    now=self._clock.monotonic,
                    output=into(out),
                    errors=into(err),
                    stdin=stdin.fileno(),
                )
        except Refused as exc:
            return Ran(hook.command, None, "", str(exc))
        finally:
            os.close(folder)
        why = {"timeout": f"it took longer than {limit:g} s", "enough": "it wrote more than 1 MiB"}
        said = why.get(ending.how, "") or err.decode("utf-8", "replace")
        code = ending.code if ending.how == "exited" else None
        return Ran(hook.command, code, out.decode("utf-8", "replace"), said)

    # -- files that a hook changed ------------------------------------------------------------------------

    def _bytes(self, path: str) -> bytes | None:
        try:
            return files.read_whole(self._workspace, self._workspace.place(path), _MOST_FILE).data
        except Refused:
            return None

    def _reread(self, path: str, before: bytes | None) -> str:
        """What a hook made of a file, which the model thereby has seen; empty where it is the same."""
        after = self._bytes(path)
        if before is None or after is None or before == after:
            return ""
        seen = self._ledger.last(path)
        if seen is not None and seen.digest == files.digest(before):
            status = self._workspace.status(self._workspace.place(path))
            self._ledger.note(path, Seen(files.digest(after), files.signature(status)))
        import difflib

        old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
        return _short(f"a hook changed {path}:\n" + "\n".join(difflib.unified_diff(old, new, lineterm="")))


def _named(matcher: str, tool: str) -> str:
    """The name of `tool` that `matcher` has, ours or the protocol's; empty where it has neither."""
    usual = _ELSEWHERE.get(tool, tool)
    if matcher in ("", "*"):
        return usual
    try:
        return next((name for name in (tool, usual) if re.fullmatch(matcher, name)), "")
    except re.error:
        return usual  # a guard whose pattern is broken guards everything


def _input(prepared: Prepared) -> dict[str, Any]:
    """The arguments of a call, under the protocol's names too."""
    found = dict(prepared.arguments)
    paths = [effect.target for effect in prepared.effects if effect.kind in ("read", "write")]
    if paths and "path" in found:
        found.setdefault("file_path", paths[0])
    edits = found.get("edits")
    if isinstance(edits, list) and len(edits) == 1 and isinstance(edits[0], dict):
        found["old_string"], found["new_string"] = edits[0].get("old_text"), edits[0].get("new_text")
    return found


def _changed(own: Mapping[str, Any], sent: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments a hook wants: what it changed of what it was sent, under our names."""
    differs = {key: value for key, value in said.items() if key not in sent or sent[key] != value}
    if "file_path" in differs:
        differs.setdefault("path", differs.pop("file_path"))
    if {"old_string", "new_string"} & differs.keys() and "old_string" in sent:
        edit = dict(own["edits"][0])
        edit["old_text"] = differs.pop("old_string", edit["old_text"])
        edit["new_text"] = differs.pop("new_string", edit["new_text"])
        differs.setdefault("edits", [edit])
    return {**own, **differs}


def _advice(ran: Ran) -> Advice:
    """What one hook decided about a call."""
    if ran.code == 2:
        return Advice("deny", _short(ran.err) or "a hook blocked it and gave no reason")
    answer, own = ran.answer, ran.own
    verdict = own.get("permissionDecision")
    reason = own.get("permissionDecisionReason") or answer.get("reason") or answer.get("stopReason") or ""
    if answer.get("continue") is False or answer.get("decision") == "block":
        verdict = "deny"
    elif answer.get("decision") == "approve" and verdict is None:
        verdict = "allow"
    changes = own.get("updatedInput")
    return Advice(
        verdict if verdict in _STRICTNESS else "",
        _short(str(reason)) or "a hook decided so",
        changes if isinstance(changes, dict) else None,
    )


def _rank(advice: Advice) -> int:
    return _STRICTNESS.index(advice.verdict) if advice.verdict else len(_STRICTNESS)


def _short(text: str) -> str:
    text = clean(text.strip())
    return text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]} (cut)"
