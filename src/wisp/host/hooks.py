"""Hooks around calls: a person's own commands, in the protocol that Claude Code documented.

A hook gets one JSON object on its standard input.  Exit code 0 goes on, and its output may hold a JSON
decision; 2 blocks, and standard error is the reason; anything else is an error that is told and blocks
nothing.  Of several decisions the strictest counts: deny, then ask, then allow.  Knows nothing of how a
decision is enforced (`harness/gate.py`), nor of how a hook is run (`host/hookrun.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from wisp.harness.ports import Advice
from wisp.host.hookrun import Ran, Runner, short
from wisp.messages.content import Text
from wisp.messages.tool import ToolOutcome
from wisp.tools.base import Prepared
from wisp.tools.ledger import ReadLedger, Seen
from wisp.workspace import files
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace

_MOST_FILE = 8 << 20
_STRICTNESS = ("deny", "ask", "allow")
_UNSAID = "a hook decided so"

_ELSEWHERE = {
    "read": ("Read",),
    "write": ("Write",),
    "edit": ("Edit", "MultiEdit"),
    "bash": ("Bash",),
    "grep": ("Grep",),
    "find": ("Glob",),
    "ls": ("LS",),
    "task": ("Task", "Agent"),
    "web_fetch": ("WebFetch",),
    "ask_user": ("AskUserQuestion",),
    "todo": ("TodoWrite",),
    "skill": ("Skill",),
}
"""What scripts written for the documented protocol call our tools; the usual name first."""


class CallHooks:
    """The hooks around calls of one conversation, or of one subagent; implements `harness.ports.CallHooks`.

    Args:
        runner: runs them.
        workspace: files that hooks change are read through it.
        ledger: what the model has seen of files.
        facts: what every hook here is told besides, for instance whose calls these are.
    """

    def __init__(
        self,
        runner: Runner,
        workspace: Workspace,
        ledger: ReadLedger,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self._runner = runner
        self._workspace = workspace
        self._ledger = ledger
        self._facts = facts or {}
        self._later: dict[str, list[str]] = {}
        """What the model is to know with the result of a call."""
        self.halted = ""
        """Why the run is to end, once a hook said so; nothing is called any more."""

    async def before_call(self, call_id: str, prepared: Prepared) -> Advice:
        """What the `PreToolUse` hooks say of a call."""
        if self.halted:
            return Advice("deny", f"a hook stopped the run: {self.halted}")
        sent = self._runner.masked(tool_input(prepared))
        more = {"tool_input": sent, "tool_use_id": call_id}
        ended = await self._run("PreToolUse", prepared.tool, more)
        said = [_advice(ran) for ran in ended]
        found = min(said, key=_rank, default=Advice())
        if why := next((ran.halts for ran in ended if ran.halts), ""):
            found = Advice("deny", why)
        if notes := [f"a hook adds: {ran.context}" for ran in ended if ran.context]:
            self._later[call_id] = notes
        changes = next((one.arguments for one in reversed(said) if one.arguments is not None), None)
        arguments = _changed(prepared.arguments, sent, changes) if changes is not None else None
        return Advice(found.verdict, found.reason, arguments)

    async def asked(self, call_id: str, prepared: Prepared) -> Advice:
        """What the `PermissionRequest` hooks answer in the place of a person: deny, allow, or nothing."""
        sent = self._runner.masked(tool_input(prepared))
        found: list[Advice] = []
        for ran in await self._run("PermissionRequest", prepared.tool, {"tool_input": sent}):
            decision = ran.own.get("decision")
            decision = decision if isinstance(decision, dict) else {}
            behavior = "deny" if ran.blocks or ran.halts else decision.get("behavior")
            if behavior == "deny":
                why = ran.blocks or short(str(decision.get("message") or "")) or _UNSAID
                found.append(Advice("deny", why))
                if decision.get("interrupt") is True:
                    self.halted = self.halted or why
            elif behavior == "allow":
                said = decision.get("updatedInput")
                changes = _changed(prepared.arguments, sent, said) if isinstance(said, dict) else None
                found.append(Advice("allow", "a hook allowed it", changes))
        return min(found, key=_rank, default=Advice())

    async def after_call(self, call_id: str, prepared: Prepared, outcome: ToolOutcome) -> ToolOutcome:
        """The outcome with what hooks said to it and did to the files of the call."""
        notes = self._later.pop(call_id, [])
        more: dict[str, Any] = {"tool_input": tool_input(prepared), "tool_use_id": call_id}
        if outcome.is_error:
            more |= {"error": outcome.text, "is_interrupt": outcome.code == "cancelled"}
            ended = await self._run("PostToolUseFailure", prepared.tool, more)
            return _with(outcome, [*notes, *_notes(ended)])
        if not self._runner.any("PostToolUse", *_names(prepared.tool)):
            return _with(outcome, notes)
        paths = [effect.target for effect in prepared.effects if effect.kind == "write"]
        before = {path: self._bytes(path) for path in paths}
        ended = await self._run(
            "PostToolUse", prepared.tool, {**more, "tool_response": _response(prepared, outcome)}
        )
        notes += [*_notes(ended), *[note for path in paths if (note := self._reread(path, before[path]))]]
        for ran in ended:
            instead = ran.own.get("updatedToolOutput", ran.own.get("updatedMCPToolOutput"))
            if instead is not None:
                said = instead if isinstance(instead, str) else msgspec.json.encode(instead).decode()
                outcome = msgspec.structs.replace(outcome, content=(Text(said),))
        return _with(outcome, notes)

    async def _run(self, event: str, tool: str, more: Mapping[str, Any]) -> list[Ran]:
        ended = await self._runner.run(event, more, *_names(tool), facts=self._facts)
        self.halted = self.halted or next((ran.halts for ran in ended if ran.halts), "")
        return ended

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
        return short(f"a hook changed {path}:\n" + "\n".join(difflib.unified_diff(old, new, lineterm="")))


def _names(tool: str) -> tuple[str, ...]:
    """Our name of a tool, then those of the protocol."""
    return (tool, *_ELSEWHERE.get(tool, ()))


def tool_input(prepared: Prepared) -> dict[str, Any]:
    """The arguments of a call, under the protocol's names too."""
    found = dict(prepared.arguments)
    paths = [effect.target for effect in prepared.effects if effect.kind in ("read", "write")]
    if paths and "path" in found:
        found.setdefault("file_path", paths[0])
    edits = found.get("edits")
    if isinstance(edits, list) and len(edits) == 1 and isinstance(edits[0], dict):
        found["old_string"], found["new_string"] = edits[0].get("old_text"), edits[0].get("new_text")
        found["replace_all"] = bool(edits[0].get("replace_all"))
    if prepared.tool == "task":
        found.setdefault("subagent_type", found.get("agent") or "")
    return found


def _response(prepared: Prepared, outcome: ToolOutcome) -> dict[str, Any]:
    """A result, as scripts for the protocol look for it."""
    found: dict[str, Any] = {"content": outcome.text, "success": True, **outcome.details}
    paths = [effect.target for effect in prepared.effects if effect.kind in ("read", "write")]
    if paths and "path" in prepared.arguments:
        found.setdefault("filePath", paths[0])
    if prepared.tool == "bash":
        found = {"stdout": outcome.text, "stderr": "", "interrupted": False} | found
    return found


def _changed(own: Mapping[str, Any], sent: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments a hook wants: what it changed of what it was sent, under our names."""
    differs = {key: value for key, value in said.items() if key not in sent or sent[key] != value}
    if "file_path" in differs:
        differs.setdefault("path", differs.pop("file_path"))
    if "subagent_type" in differs:
        differs.setdefault("agent", differs.pop("subagent_type"))
    spoken = {"old_string": "old_text", "new_string": "new_text", "replace_all": "replace_all"}
    if spoken.keys() & differs.keys() and "old_string" in sent:
        edit = dict(own["edits"][0])
        edit |= {ours: differs.pop(theirs) for theirs, ours in spoken.items() if theirs in differs}
        differs.setdefault("edits", [edit])
    return {**own, **differs}


def _advice(ran: Ran) -> Advice:
    """What one hook decided about a call."""
    if ran.code == 2:
        return Advice("deny", short(ran.err) or "a hook blocked it and gave no reason")
    answer, own = ran.answer, ran.own
    verdict = own.get("permissionDecision")
    reason = own.get("permissionDecisionReason") or answer.get("reason") or answer.get("stopReason") or ""
    if answer.get("continue") is False or answer.get("decision") == "block":
        verdict = "deny"
    elif answer.get("decision") == "approve" and verdict is None:
        verdict = "allow"
    elif verdict == "defer":  # nobody here takes a call up again later: a person decides
        verdict = "ask"
    changes = own.get("updatedInput")
    return Advice(
        verdict if verdict in _STRICTNESS else "",
        short(str(reason)) or _UNSAID,
        changes if isinstance(changes, dict) else None,
    )


def _notes(ended: list[Ran]) -> list[str]:
    """What hooks said to a result."""
    notes = []
    for ran in ended:
        if why := ran.blocks:
            notes.append(f"a hook objects: {why}")
        if ran.context:
            notes.append(f"a hook adds: {ran.context}")
    return notes


def _with(outcome: ToolOutcome, notes: list[str]) -> ToolOutcome:
    if not notes:
        return outcome
    return msgspec.structs.replace(outcome, content=(*outcome.content, Text("\n".join(notes))))


def _rank(advice: Advice) -> int:
    return _STRICTNESS.index(advice.verdict) if advice.verdict else len(_STRICTNESS)
