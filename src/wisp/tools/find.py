"""Finding files by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

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
    from wisp.workspace.search import Searcher

MAX_FILES = 1000


class FindArguments(msgspec.Struct, frozen=True):
    """What `find` takes."""

    pattern: Annotated[str, msgspec.Meta(description="Glob, e.g. *.py or src/**/test_*.py")]
    path: str = "."
    max_results: int = MAX_FILES


class FindTool:
    """Lists files whose path fits a glob, newest first."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(self, workspace: Workspace, searcher: Callable[[], Searcher]) -> None:
        self._workspace, self._searcher = workspace, searcher
        self.spec = ToolSpec(
            "find", "Find files by glob, newest first; ignored files are left out.", schema_of(FindArguments)
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say where would be looked."""
        args = decode(FindArguments, arguments, tool="find")
        if not args.pattern:
            raise ToolFailure("invalid_arguments", "find: the pattern is empty")
        if args.max_results < 1:
            raise ToolFailure("invalid_arguments", "find: max_results begins at 1")
        target = to_read(self._workspace, args.path)
        return Prepared(
            tool="find",
            arguments=msgspec.to_builtins(args),
            effects=(target.effect("read"),),
            run=lambda context: self._run(target, args, context),
            summary=f"find {shown(args.pattern)} in {relative(self._workspace, target.path)}",
        )

    def _run(self, target: Target, args: FindArguments, context: RunContext) -> ToolOutcome:
        most = min(args.max_results, MAX_FILES)
        with failures(args.path):
            listing = self._searcher().find(target.place, args.pattern, most, context.stop)
        top = "" if target.path == self._workspace.cwd else relative(self._workspace, target.path) + "/"
        clipped = clip([shown(top + path) for path in listing.paths], most=most, room=MAX_BYTES)
        notes = []
        if clipped.lines < listing.total:
            notes.append(
                f"[the newest {clipped.lines:,} of {listing.total:,} files; narrow the pattern or path]"
            )
        if listing.partial:
            notes.append("[the time for searching was up: files may be missing; narrow the path]")
        if not listing.total:
            notes.insert(0, "no files")
        body = [clean(clipped.text)] if clipped.text else []
        return plain("\n".join([*body, *notes]), files=listing.total)
