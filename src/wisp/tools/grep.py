"""Searching contents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from wisp.messages.codec import clean
from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, RunContext
from wisp.tools.render import MAX_BYTES, clip
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import Target, failures, relative, to_read
from wisp.workspace.errors import shown
from wisp.workspace.root import Workspace

if TYPE_CHECKING:
    from wisp.workspace.hits import Hit
    from wisp.workspace.search import Searcher

MAX_HITS = 100


class GrepArguments(msgspec.Struct, frozen=True):
    """What `grep` takes."""

    pattern: str
    path: str = "."
    glob: str = ""
    ignore_case: bool = False
    literal: bool = False
    context: int = 0
    max_results: int = MAX_HITS


class GrepTool:
    """Finds lines by ripgrep's rules."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(self, workspace: Workspace, searcher: Callable[[], Searcher]) -> None:
        self._workspace, self._searcher = workspace, searcher
        self.spec = ToolSpec(
            "grep",
            "Search file contents by regex, as ripgrep does; ignored and hidden files are left out.",
            schema_of(GrepArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say where would be searched."""
        args = decode(GrepArguments, arguments, tool="grep")
        if not args.pattern:
            raise ToolFailure("invalid_arguments", "grep: the pattern is empty")
        if args.max_results < 1 or args.context < 0:
            raise ToolFailure("invalid_arguments", "grep: max_results begins at 1 and context at 0")
        target = to_read(self._workspace, args.path)
        return Prepared(
            tool="grep",
            arguments=msgspec.to_builtins(args),
            effects=(target.effect("read"),),
            run=lambda context: self._run(target, args, context),
            summary=f"grep {shown(args.pattern)} in {relative(self._workspace, target.path)}",
        )

    def _run(self, target: Target, args: GrepArguments, context: RunContext) -> ToolOutcome:
        from wisp.workspace.hits import Query

        query = Query(
            args.pattern,
            glob=args.glob,
            ignore_case=args.ignore_case,
            literal=args.literal,
            context=min(args.context, 20),
            most=min(args.max_results, MAX_HITS),
        )
        with failures(args.path):
            answer = self._searcher().grep(target.place, query, context.stop)
            is_directory = self._is_directory(target)
        top = "" if target.path == self._workspace.cwd else relative(self._workspace, target.path)
        rows = _rows(answer.hits, top if is_directory else "", None if is_directory else top)
        count = sum(hit.is_match for hit in answer.hits)
        clipped = clip(rows, most=len(rows) + 1, room=MAX_BYTES)
        notes = []
        if clipped.lines < len(rows):
            notes.append("[cut at 50,000 bytes; narrow the search by path, glob or pattern]")
        if answer.more:
            notes.append(
                f"[the first {count} hits; there are more, narrow the search by path, glob or pattern]"
            )
        if answer.partial:
            notes.append("[the time for searching was up: files may be missing; narrow the search]")
        if not answer.hits:
            notes.insert(0, "no matches")
        body = [clean(clipped.text)] if clipped.text else []
        return plain("\n".join([*body, *notes]), hits=count, cut=answer.more)

    def _is_directory(self, target: Target) -> bool:
        import stat

        return stat.S_ISDIR(self._workspace.status(target.place).st_mode)


def _rows(hits: list[Hit], top: str, single: str | None) -> list[str]:
    """`path:line:text`, and `path-line-text` for context; `--` between groups that do not touch."""
    rows: list[str] = []
    with_context = any(not hit.is_match for hit in hits)
    last: Hit | None = None
    for hit in hits:
        if with_context and last and (last.path != hit.path or last.line + 1 != hit.line):
            rows.append("--")
        path = single if single is not None else f"{top}/{hit.path}" if top else hit.path
        mark = ":" if hit.is_match else "-"
        rows.append(f"{shown(path)}{mark}{hit.line}{mark}{hit.text}")
        last = hit
    return rows
