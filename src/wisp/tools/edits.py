"""Edits of several files in one call: each planned as a single edit is, written as one transaction.

Knows nothing of how edits are located, nor how a transaction is rolled back.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from typing import NamedTuple

import msgspec

from wisp.messages.content import Text
from wisp.messages.tool import ToolFailure, ToolOutcome
from wisp.tools.base import Prepared, RunContext
from wisp.tools.edit import Change, EditArguments
from wisp.tools.ledger import ReadLedger, Seen
from wisp.tools.parts import count
from wisp.tools.planning import Plan, plan_edits, report
from wisp.tools.target import Target, failures, in_diff, relative, to_change
from wisp.tools.unsaved import refuse_unsaved
from wisp.workspace import files
from wisp.workspace.root import Workspace

_NAMES = 4


class Part(NamedTuple):
    """One file of the call."""

    target: Target
    name: str
    before: str
    """Digest of the bytes it was planned for."""
    plan: Plan


def _chosen(parts: list[Part], some: frozenset[int]) -> list[Part]:
    """The files with the hunks that are wanted, counted through all of them; files with none drop out."""
    found, first = [], 0
    for part in parts:
        hunks = part.plan.diff.text.count("\n@@ -")
        mine = frozenset(number - first for number in some if first <= number < first + hunks)
        if mine:
            found.append(part._replace(plan=part.plan.only(mine)))
        first += hunks
    return found


class SeveralFiles:
    """Prepares and runs such a call."""

    def __init__(
        self, workspace: Workspace, ledger: ReadLedger, fallbacks: tuple[str, ...], journal: str | None
    ) -> None:
        self._workspace, self._ledger, self._fallbacks = workspace, ledger, fallbacks
        self._journal = journal

    def prepare(self, args: EditArguments) -> Prepared:
        """Locate everything in every file and show all diffs; changes nothing.

        Raises:
            ToolFailure: any of the edits cannot be made.
        """
        journal = self._journal
        if journal is None:
            raise ToolFailure(
                "invalid_arguments", "edit: several files cannot be edited here; one call per file"
            )
        targets: dict[str, Target] = {}
        edits: dict[str, list[Change]] = {}
        for edit in args.edits:
            target = to_change(self._workspace, edit.path or args.path)
            if not target.place.inside:
                raise ToolFailure(
                    "outside", f"{target.told} is outside the granted folders; edit it in a call of its own"
                )
            targets[target.path] = target
            edits.setdefault(target.path, []).append(edit)
        parts = [self._part(targets[path], edits[path]) for path in sorted(targets)]
        return self._planned(args, parts, journal)

    def _planned(
        self, args: EditArguments, parts: list[Part], journal: str, chosen: frozenset[int] | None = None
    ) -> Prepared:
        """The call as it was planned, with all hunks or the chosen ones."""
        preview = "".join(part.plan.diff.text for part in parts)
        took = {} if chosen is None else {"hunks": sorted(chosen)}
        names = ", ".join(part.name for part in parts[:_NAMES]) + (", ..." if len(parts) > _NAMES else "")
        added, removed = sum(p.plan.diff.added for p in parts), sum(p.plan.diff.removed for p in parts)
        return Prepared(
            tool="edit",
            arguments=msgspec.to_builtins(args) | took,
            effects=tuple(part.target.effect("write") for part in parts),
            run=lambda context: self._run(parts, journal, context),
            summary=f"edit {len(parts)} files (+{added} -{removed}): {names}",
            preview=preview,
            fingerprint=hashlib.sha256("".join(part.before for part in parts).encode()).hexdigest(),
            resources=tuple(part.target.told for part in parts),
            parts=count(preview),
            only=lambda some: self._planned(args, _chosen(parts, some), journal, some),
        )

    def _part(self, target: Target, edits: list[Change]) -> Part:
        name = relative(self._workspace, target.path)
        if not target.exists:
            raise ToolFailure("not_found", f"{name} does not exist; use write to create it")
        with failures(name):
            before = files.read_whole(self._workspace, target.place)
        refuse_unsaved(self._ledger.editor, target, before.data, name)
        self._ledger.check(target.path, Seen(before.digest, files.signature(before.stat)))
        label = in_diff(self._workspace, target.path)
        plan = plan_edits(before.data, edits, name, self._fallbacks, label)
        return Part(target, name, before.digest, plan)

    def _run(self, parts: list[Part], journal: str, context: RunContext) -> ToolOutcome:
        """Write all that was planned; every file must still have the bytes it was planned for."""
        from wisp.workspace.changeset import FileChange, RollbackFailed, change_files

        changes = [FileChange(part.target.place, part.plan.data, part.before) for part in parts]
        with failures(), ExitStack() as locks:
            for part in parts:  # in the order of their paths, so that two calls cannot wait for each other
                locks.enter_context(self._workspace.lock(part.target.path))
            try:
                change_files(self._workspace, changes, journal, lambda _: context.stop.check())
            except RollbackFailed as exc:
                raise ToolFailure("io_error", f"the edit failed half way, and {exc}") from None
            for part in parts:
                after = self._workspace.status(part.target.place)
                self._ledger.note(
                    part.target.path, Seen(files.digest(*part.plan.pieces), files.signature(after))
                )
        outcomes = [report(part.name, part.plan) for part in parts]
        return ToolOutcome(
            (Text("\n".join(outcome.text for outcome in outcomes)),),
            details={
                "diff": "".join(part.plan.diff.text for part in parts),
                "path": ", ".join(part.name for part in parts),
                "added": sum(part.plan.diff.added for part in parts),
                "removed": sum(part.plan.diff.removed for part in parts),
            },
        )
