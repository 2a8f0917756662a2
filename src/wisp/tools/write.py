"""Making or replacing one whole file."""

from __future__ import annotations

from typing import Any

import msgspec

from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, RunContext
from wisp.tools.diff import Diff, Span, span_of, unified, whole
from wisp.tools.ledger import ReadLedger, Seen
from wisp.tools.parts import applied, count, kept
from wisp.tools.render import plural
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import Target, failures, in_diff, relative, to_write
from wisp.tools.unsaved import refuse_unsaved
from wisp.workspace import files, text
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace


class WriteArguments(msgspec.Struct, frozen=True):
    """What `write` takes."""

    path: str
    content: str


class WriteTool:
    """Writes a file as given: in the encoding the old file had, marked or not, else UTF-8."""

    parallel_safe = False
    replay: Replay = "never"

    def __init__(
        self,
        workspace: Workspace,
        ledger: ReadLedger,
        fallbacks: tuple[str, ...] = text.DEFAULT_FALLBACKS,
    ) -> None:
        self._workspace, self._ledger, self._fallbacks = workspace, ledger, fallbacks
        self.spec = ToolSpec(
            "write", "Create or replace a whole file; parent directories are made.", schema_of(WriteArguments)
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Show what would change; changes nothing."""
        args = decode(WriteArguments, arguments, tool="write")
        target = to_write(self._workspace, args.path)
        name = relative(self._workspace, target.path)
        fingerprint, old = "", None
        lines = args.content.count("\n") + (not args.content.endswith("\n") and bool(args.content))
        summary, preview = f"write {name} ({plural(lines, 'line')})", args.content
        if target.place.inside:
            fingerprint, old = self._before(target, name)
            _, diff = self._after(old, args.content, name, in_diff(self._workspace, target.path))
            preview = diff.text
            verb = "write" if old is not None else "create"
            summary = f"{verb} {name} (+{diff.added} -{diff.removed})"
        return Prepared(
            tool="write",
            arguments=msgspec.to_builtins(args),
            effects=(target.effect("write"),),
            run=lambda context: self._run(target, args.content, name, fingerprint, context),
            summary=summary,
            preview=preview,
            fingerprint=fingerprint,
            resources=(target.told,),
            parts=count(preview) if old else 0,
            only=lambda some: self._some(args, old or b"", some),
        )

    def _some(self, args: WriteArguments, old: bytes, some: frozenset[int]) -> Prepared:
        """The call that makes only these hunks of its change."""
        before = text.decode(old, self._fallbacks).text
        content = applied(before, kept(before, span_of(before, args.content), some))
        return self.prepare({"path": args.path, "content": content})

    def _before(self, target: Target, name: str) -> tuple[str, bytes | None]:
        """Digest and bytes of what is there; refuses when the model has seen something else."""
        try:
            with failures(name):
                found = files.read_whole(self._workspace, target.place)
        except ToolFailure as exc:
            if exc.code != "not_found":
                raise
            return files.ABSENT, None
        refuse_unsaved(self._ledger.editor, target, found.data, name)
        self._ledger.check(target.path, Seen(found.digest, files.signature(found.stat)))
        return found.digest, found.data

    def _after(self, old: bytes | None, content: str, name: str, label: str) -> tuple[bytes, Diff]:
        """What the file will hold, and the diff; the lines it does not show keep their very bytes."""
        try:
            before = text.decode(old, self._fallbacks) if old else None
        except Refused:
            before = None
        form = before.form if before else text.form_of(old or b"")
        try:
            data = form.mark + text.encode(content, form)
        except Refused as exc:
            raise ToolFailure(exc.code, f"{exc.message}; delete it first to have it as UTF-8") from None
        if old is None:
            return data, unified("", [Span(0, 0, content)] if content else [], label, created=True)
        if old and not before:
            return data, Diff(f"Binary file {name} is replaced by text:\n{content}", content.count("\n"), 0)
        lead = text.lead(form)
        return data, whole(lead + before.text if before else "", lead + content, label)

    def _run(
        self, target: Target, content: str, name: str, fingerprint: str, context: RunContext
    ) -> ToolOutcome:
        with failures(name), self._workspace.lock(target.path):
            context.stop.check()
            digest, old = self._before(target, name)
            if fingerprint and digest != fingerprint:
                raise ToolFailure(
                    "stale_input", f"{name} changed since this was prepared; read it again and repeat"
                )
            data, diff = self._after(old, content, name, in_diff(self._workspace, target.path))
            if data != old:
                files.replace(self._workspace, target.place, data, digest)
            after = self._workspace.status(target.place)
            self._ledger.note(target.path, Seen(files.digest(data), files.signature(after)))
        if data == old:
            return plain(f"{name} already holds exactly this; nothing was written", path=name)
        verb = "created" if old is None else "replaced"
        return plain(
            f"{verb} {name} ({len(data):,} bytes, +{diff.added} -{diff.removed} lines)",
            diff=diff.text,
            path=name,
            added=diff.added,
            removed=diff.removed,
        )
