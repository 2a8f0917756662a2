"""Exact replacement: every edit is found in the original bytes, and nothing else changes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import msgspec

from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, RunContext
from wisp.tools.diff import Diff, Span, unified
from wisp.tools.ledger import ReadLedger, Seen
from wisp.tools.match import MAX_PLACES, Found, Place, line_of, locate, nearest
from wisp.tools.parts import count, kept
from wisp.tools.render import plural
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import Target, failures, relative, to_write
from wisp.tools.unsaved import refuse_unsaved
from wisp.workspace import files, text
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace

_BREAK = re.compile("\r\n|\n")


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


class Plan(NamedTuple):
    """What a file will become."""

    data: bytes
    diff: Diff
    spans: int
    how: set[str]
    before: bytes
    decoded: text.Decoded
    made: list[Span]

    def only(self, chosen: frozenset[int], name: str) -> Plan:
        """What the file becomes with these hunks of `diff` alone, counted from 0."""
        made = kept(self.decoded.text, self.made, chosen)
        data = _join(self.before, self.decoded, made)
        diff = unified(self.decoded.text, made, name)
        return self._replace(data=data, diff=diff, spans=len(made), made=made)


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
        target = to_write(self._workspace, args.path)
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
            run=lambda context: self._run(target, args, name, "", None, context),
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
        parts = count(plan.diff.text)
        return Prepared(
            tool="edit",
            arguments=msgspec.to_builtins(args) | took,
            effects=(target.effect("write"),),
            run=lambda context: self._run(target, args, name, digest, plan, context),
            summary=f"edit {name} (+{plan.diff.added} -{plan.diff.removed})",
            preview=plan.diff.text,
            fingerprint=digest,
            resources=(target.told,),
            parts=parts,
            only=lambda some: self._planned(target, args, name, digest, plan.only(some, name), some),
        )

    def _plan(self, target: Target, args: EditArguments, name: str) -> tuple[files.Content, Plan]:
        if not target.exists and target.place.inside:
            raise ToolFailure("not_found", f"{name} does not exist; use write to create it")
        with failures(name):
            before = files.read_whole(self._workspace, target.place)
        refuse_unsaved(self._ledger.editor, target, before.data, name)
        self._ledger.check(target.path, Seen(before.digest, files.signature(before.stat)))
        return before, plan_edits(before.data, args.edits, name, self._fallbacks)

    def _run(
        self,
        target: Target,
        args: EditArguments,
        name: str,
        fingerprint: str,
        plan: Plan | None,
        context: RunContext,
    ) -> ToolOutcome:
        """Write what was planned; the file must still have the bytes it was planned for."""
        with failures(name), self._workspace.lock(target.path):
            context.stop.check()
            if plan is None:  # outside the granted folders nothing was looked at before it was allowed
                before, plan = self._plan(target, args, name)
                fingerprint = before.digest
            digest = files.replace(self._workspace, target.place, plan.data, fingerprint)
            after = self._workspace.status(target.place)
            self._ledger.note(target.path, Seen(digest, files.signature(after)))
        return report(name, plan)


def plan_edits(data: bytes, edits: list[Change], name: str, fallbacks: tuple[str, ...]) -> Plan:
    """What `edits` make of a file's bytes.

    Raises:
        ToolFailure: `not_found`, `not_unique`, `overlapping`, `no_change`, `binary`, `unencodable`,
            `invalid_arguments`.
    """
    if not edits:
        raise ToolFailure("invalid_arguments", "edit: edits is empty")
    try:
        decoded = text.decode(data, fallbacks)
    except Refused as exc:
        raise ToolFailure(exc.code, f"{name} cannot be edited: {exc.message}; use bash") from None
    spans: list[tuple[Span, int]] = []
    how: set[str] = set()
    for number, edit in enumerate(edits, 1):
        found = _find(decoded.text, edit, number, name)
        how.add(found.how)
        for place in found.places:
            spans.append((_span(decoded.text, place, edit, found.how, number, name), number))
    spans.sort(key=lambda item: (item[0].start, item[0].end))
    for (one, a), (other, b) in pairwise(spans):
        if other.start < one.end:
            raise ToolFailure(
                "overlapping",
                f"edits {a} and {b} overlap in {name} (line {line_of(decoded.text, other.start)}); "
                "merge them into one edit",
            )
    result = _join(data, decoded, [span for span, _ in spans])
    if result == data:
        raise ToolFailure("no_change", f"the edits would leave {name} as it is; nothing was written")
    ordered = [span for span, _ in spans]
    return Plan(result, unified(decoded.text, ordered, name), len(ordered), how, data, decoded, ordered)


def _find(content: str, edit: Change, number: int, name: str) -> Found:
    """The one place (or, with `replace_all`, all places apart) of one edit."""
    if not edit.old_text.strip():
        raise ToolFailure(
            "invalid_arguments",
            f"old_text of edit {number} is {'only white space' if edit.old_text else 'empty'}; "
            "give the text to be replaced",
        )
    if edit.old_text == edit.new_text:
        raise ToolFailure("no_change", f"old_text and new_text of edit {number} are the same")
    found = locate(content, edit.old_text)
    if not found.places:
        raise ToolFailure("not_found", _missing(content, edit, number, name))
    many = len(found.places) > MAX_PLACES
    if edit.replace_all and many:
        raise ToolFailure(
            "too_large",
            f"old_text of edit {number} occurs more than {MAX_PLACES:,} times in {name}; nothing changed; "
            "give more text, or replace it with a command",
        )
    if edit.replace_all:
        apart: list[Place] = []
        for place in found.places:
            if not apart or place.start >= apart[-1].end:
                apart.append(place)
        return Found(apart, found.how)
    if len(found.places) > 1:
        lines = [str(line_of(content, place.start)) for place in found.places[:10]]
        more = ", ..." if len(found.places) > 10 else ""
        count = f"more than {MAX_PLACES:,}" if many else f"{len(found.places)}"
        raise ToolFailure(
            "not_unique",
            f"old_text of edit {number} occurs {count} times in {name} "
            f"(lines {', '.join(lines)}{more}); "
            "add lines around it, or set replace_all",
        )
    return found


def _missing(content: str, edit: Change, number: int, name: str) -> str:
    words = f"old_text of edit {number} is not in {name}; nothing was written"
    near = nearest(content, edit.old_text)
    if not near:
        return words + "; read the file and copy the text exactly"
    return words + ". The nearest lines are:\n" + "\n".join(f"  {line}: {shown}" for line, shown in near)


def _span(content: str, place: Place, edit: Change, how: str, number: int, name: str) -> Span:
    """The replacement for one place: literal, but for line breaks and a shift of indentation."""
    new = edit.new_text
    if place.fit:
        fitted = place.fit(new)
        if fitted is None:
            raise ToolFailure(
                "not_found",
                f"old_text of edit {number} is in {name} only with other indentation, which does not fit "
                f"new_text (line {line_of(content, place.start)}); copy the indentation exactly",
            )
        new = fitted
    same_words = _BREAK.sub("\n", edit.old_text) == _BREAK.sub("\n", edit.new_text)
    if how == "exact" and same_words:
        return Span(place.start, place.end, new)
    style = _style(content, place)
    if style:
        new = _BREAK.sub(style, new)
    return Span(place.start, place.end, new)


def _style(content: str, place: Place) -> str:
    """The line break new text gets here: that of the span, else of its line, else of the file."""
    if "\r" not in content:
        return "\n"
    inside = text.newlines_in(content[place.start : place.end]) - {"\r"}
    if len(inside) == 1:
        return inside.pop()
    after = _BREAK.search(content, place.end)
    if after:
        return after[0]
    return text.newline_of(content)


def _join(data: bytes, decoded: text.Decoded, spans: list[Span]) -> bytes:
    """Original bytes outside the spans, the encoded replacements inside."""
    ascii_only = decoded.form.encoding == "utf-8" and decoded.text.isascii()

    def width(start: int, end: int) -> int:
        return end - start if ascii_only else len(decoded.text[start:end].encode(decoded.form.encoding))

    pieces: list[bytes] = []
    index, done = 0, 0
    offset = decoded.offset(0)
    for span in spans:
        offset += width(index, span.start)
        pieces.append(data[done:offset])
        try:
            pieces.append(text.encode(span.new, decoded.form))
        except Refused as exc:
            raise ToolFailure(exc.code, exc.message) from None
        offset += width(span.start, span.end)
        index, done = span.end, offset
    pieces.append(data[done:])
    return b"".join(pieces)


def report(name: str, plan: Plan) -> ToolOutcome:
    """What the model is told of one edited file."""
    tolerant = sorted(plan.how - {"exact", "newlines"})
    note = f" [located in spite of different {' and '.join(tolerant)}]" if tolerant else ""
    changed = (
        f"edited {name}: {plural(plan.spans, 'place')}, +{plan.diff.added} -{plan.diff.removed} lines{note}"
    )
    return plain(
        f"{changed}\n{plan.diff.text}",
        diff=plan.diff.text,
        path=name,
        added=plan.diff.added,
        removed=plan.diff.removed,
    )


def _flat(arguments: dict[str, Any]) -> dict[str, Any]:
    """A single edit given without its list."""
    names: tuple[str, ...] = ("old_text", "oldText", "old_string", "oldString", "old_str")
    names += ("new_text", "newText", "new_string", "newString", "new_str", "replace_all", "replaceAll")
    if "edits" in arguments or not any(name in arguments for name in names):
        return arguments
    rest = {name: value for name, value in arguments.items() if name not in names}
    return rest | {"edits": [{name: arguments[name] for name in names if name in arguments}]}
