"""Exact replacement: every edit is found in the original bytes, and nothing else changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec
from wisp.tools.base import Prepared, RunContext
from wisp.tools.ledger import ReadLedger, Seen
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import Target, failures, in_diff, relative, to_change
from wisp.tools.unsaved import refuse_unsaved
from wisp.workspace import files, text
from wisp.workspace.root import Workspace

if TYPE_CHECKING:
    from wisp.tools.planning import Plan


class Change(msgspec.Struct, frozen=True):
    """One replacement."""

    old_text: str
    new_text: str
    replace_all: bool = False
    path: Annotated[str, msgspec.Meta(description="If another file")] = ""


class EditArguments(msgspec.Struct, frozen=True):
    """What `edit` takes."""

    path: str
    edits: Annotated[list[Change], msgspec.Meta(description="Each old_text must occur exactly once")]


class EditTool:
    """Replaces texts in one file, or in several, all or none."""

    parallel_safe = False
    replay: Replay = "never"

    def __init__(
        self,
        workspace: Workspace,
        ledger: ReadLedger,
        fallbacks: tuple[str, ...] = text.DEFAULT_FALLBACKS,
        journal: str | None = None,
    ) -> None:
        self._workspace, self._ledger, self._fallbacks = workspace, ledger, fallbacks
        self._journal = journal
        self.spec = ToolSpec(
            "edit",
            "Replace exact text in one file or several. All edits are found in the original and must not "
            "overlap; all or nothing.",
            schema_of(EditArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Locate everything and show the diff; changes nothing."""
        args = decode(EditArguments, _flat(arguments), tool="edit")
        if any(edit.path not in ("", args.path) for edit in args.edits):
            from wisp.tools.edits import SeveralFiles

            several = SeveralFiles(self._workspace, self._ledger, self._fallbacks, self._journal)
            return several.prepare(args)
        target = to_change(self._workspace, args.path)
        name = relative(self._workspace, target.path)
        if target.place.inside:
            before, plan = self._plan(target, args, name)
            return self._planned(target, args, name, before.digest, plan)
        preview = (
            f"{len(args.edits)} edits of {target.path}, which is outside the granted folders:\n"
            + "".join(f"\n--- replace\n{edit.old_text}\n+++ by\n{edit.new_text}\n" for edit in args.edits)
        )
        return Prepared(
            tool="edit",
            arguments=msgspec.to_builtins(args),
            effects=(target.effect("write"),),
            run=lambda context: self._run(target, args, name, None, context),
            summary=f"edit {name}",
            preview=preview,
            resources=(target.told,),
        )

    def _planned(
        self,
        target: Target,
        args: EditArguments,
        name: str,
        digest: str,
        plan: Plan,
        chosen: frozenset[int] | None = None,
    ) -> Prepared:
        """The call as it was planned, with all hunks or the chosen ones."""
        took = {} if chosen is None else {"hunks": sorted(chosen)}
        from wisp.tools.parts import count

        parts = count(plan.diff.text)
        return Prepared(
            tool="edit",
            arguments=msgspec.to_builtins(args) | took,
            effects=(target.effect("write"),),
            run=lambda context: self._run(target, args, name, plan, context),
            summary=f"edit {name} (+{plan.diff.added} -{plan.diff.removed})",
            preview=plan.diff.text,
            fingerprint=digest,
            resources=(target.told,),
            parts=parts,
            only=lambda some: self._planned(target, args, name, digest, plan.only(some), some),
        )

    def _plan(self, target: Target, args: EditArguments, name: str) -> tuple[files.Content, Plan]:
        from wisp.tools.planning import plan_edits

        if not target.exists and target.place.inside:
            raise ToolFailure("not_found", f"{name} does not exist; use write to create it")
        with failures(name):
            before = files.read_whole(self._workspace, target.place)
        refuse_unsaved(self._ledger.editor, target, before.data, name)
        self._ledger.check(target.path, Seen(before.digest, files.signature(before.stat)))
        label = in_diff(self._workspace, target.path)
        return before, plan_edits(before.data, args.edits, name, self._fallbacks, label)

    def _run(
        self,
        target: Target,
        args: EditArguments,
        name: str,
        plan: Plan | None,
        context: RunContext,
    ) -> ToolOutcome:
        """Write what was planned; the file must still have the bytes it was planned for."""
        with failures(name), self._workspace.lock(target.path):
            context.stop.check()
            if plan is None:  # outside the granted folders nothing was looked at before it was allowed
                _, plan = self._plan(target, args, name)
            digest = files.replace(self._workspace, target.place, plan.pieces, plan.before)
            after = self._workspace.status(target.place)
            self._ledger.note(target.path, Seen(digest, files.signature(after)))
        from wisp.tools.planning import report

        return report(name, plan)


def _flat(arguments: dict[str, Any]) -> dict[str, Any]:
    """A single edit given without its list."""
    names: tuple[str, ...] = ("old_text", "oldText", "old_string", "oldString", "old_str")
    names += ("new_text", "newText", "new_string", "newString", "new_str", "replace_all", "replaceAll")
    if "edits" in arguments or not any(name in arguments for name in names):
        return arguments
    rest = {name: value for name, value in arguments.items() if name not in names}
    return rest | {"edits": [{name: arguments[name] for name in names if name in arguments}]}
