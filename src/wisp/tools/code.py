"""Looking at code by its structure, where the extra `code` is installed: search by pattern, a map by rank.

Asks the library only for languages of its list: it ends a thread on one that it does not know.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from wisp.messages.codec import clean
from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, RunContext
from wisp.tools.render import MAX_BYTES, clip, clip_bytes, plural
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import Target, failures, relative, to_read
from wisp.workspace import files
from wisp.workspace.errors import Refused, shown
from wisp.workspace.protected import why_protected
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

if TYPE_CHECKING:
    from wisp.workspace.search import Searcher

MAX_FILES = 3000
"""Most files that are parsed in one call."""
MAX_FILE = 1 << 20
_LINE = 200
_ENDINGS = {
    "bash": "sh bash",
    "c": "c h",
    "cpp": "cc cpp cxx hpp hh",
    "csharp": "cs",
    "css": "css",
    "elixir": "ex exs",
    "go": "go",
    "haskell": "hs",
    "hcl": "hcl tf",
    "html": "html htm",
    "java": "java",
    "javascript": "js mjs cjs jsx",
    "json": "json",
    "kotlin": "kt kts",
    "lua": "lua",
    "nix": "nix",
    "php": "php",
    "python": "py pyi",
    "ruby": "rb",
    "rust": "rs",
    "scala": "scala",
    "solidity": "sol",
    "swift": "swift",
    "tsx": "tsx",
    "typescript": "ts mts cts",
    "yaml": "yaml yml",
}
LANGUAGES = {"." + ending: name for name, endings in _ENDINGS.items() for ending in endings.split()}
"""Endings of file names and the languages they stand for."""
_TS = "function_declaration class_declaration method_definition interface_declaration type_alias_declaration"
DEFINITIONS = {
    "python": "function_definition class_definition",
    "javascript": "function_declaration class_declaration method_definition",
    "typescript": _TS,
    "tsx": _TS,
    "go": "function_declaration method_declaration type_spec",
    "rust": "function_item struct_item enum_item trait_item",
    "java": "class_declaration interface_declaration method_declaration",
    "csharp": "class_declaration interface_declaration method_declaration",
    "c": "function_definition",
    "cpp": "function_definition class_specifier",
    "ruby": "method class module",
    "php": "function_definition class_declaration method_declaration",
}
"""Kinds of nodes that define something with a name."""
_WORD = re.compile(r"[A-Za-z_]\w{2,}")


class CodeSearchArguments(msgspec.Struct, frozen=True):
    """What `code_search` takes."""

    pattern: Annotated[str, msgspec.Meta(description="Code; $A stands for one node, $$$A for any number")]
    language: str
    path: str = "."
    max_results: int = 50


class CodeMapArguments(msgspec.Struct, frozen=True):
    """What `code_map` takes."""

    path: str = "."
    tokens: Annotated[int, msgspec.Meta(description="Budget")] = 2000


class Source(NamedTuple):
    """One file that could be read."""

    name: str
    language: str
    text: str


class Definition(NamedTuple):
    """Something with a name."""

    file: str
    line: int
    name: str
    words: str


def _sources(
    workspace: Workspace, searcher: Searcher, target: Target, endings: set[str], stop: StopToken
) -> Iterator[Source]:
    """Files below the target that are not ignored, not protected, and text of a known language."""
    base = target.place.relative
    try:
        os.close(workspace.open_directory(target.place)[0])
        paths = searcher.find(target.place, "*", MAX_FILES * 4, stop).paths
    except Refused as exc:
        if exc.code != "not_directory":
            raise
        paths, base = [target.place.parts[-1]], "/".join(target.place.parts[:-1])
    taken = 0
    for path in sorted(paths):
        language = LANGUAGES.get(os.path.splitext(path)[1].lower(), "")
        if language not in endings or taken >= MAX_FILES:
            continue
        stop.check()
        place = target.place._replace(relative=f"{base}/{path}" if base else path)
        if why_protected(place.path, "read"):
            continue
        try:
            text = files.read_whole(workspace, place, MAX_FILE).data.decode("utf-8-sig")
        except (Refused, UnicodeDecodeError):
            continue  # too large, gone meanwhile, or no text: not code that could be shown
        taken += 1
        yield Source(relative(workspace, place.path), language, text)


class CodeSearchTool:
    """Finds code by the shape of its syntax."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(self, workspace: Workspace, searcher: Callable[[], Searcher]) -> None:
        self._workspace, self._searcher = workspace, searcher
        self.spec = ToolSpec(
            "code_search",
            "Find code by structure, whatever its layout: def $F($$$A): $$$B",
            schema_of(CodeSearchArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Check language and place."""
        args = decode(CodeSearchArguments, arguments, tool="code_search")
        if args.language not in _ENDINGS:
            raise ToolFailure(
                "invalid_arguments",
                f"code_search: {args.language!a} is no language here; it knows {', '.join(_ENDINGS)}",
            )
        if not args.pattern.strip() or args.max_results < 1:
            raise ToolFailure("invalid_arguments", "code_search: an empty pattern, or max_results below 1")
        target = to_read(self._workspace, args.path)
        return Prepared(
            tool="code_search",
            arguments=msgspec.to_builtins(args),
            effects=(target.effect("read"),),
            run=lambda context: self._run(target, args, context),
            summary=f"code_search {shown(args.pattern)} in {relative(self._workspace, target.path)}",
        )

    def _run(self, target: Target, args: CodeSearchArguments, context: RunContext) -> ToolOutcome:
        from ast_grep_py import SgRoot

        rows: list[str] = []
        more = False
        with failures(args.path):
            for source in _sources(self._workspace, self._searcher(), target, {args.language}, context.stop):
                try:
                    found = SgRoot(source.text, args.language).root().find_all(pattern=args.pattern)
                except RuntimeError:
                    raise ToolFailure(
                        "invalid_pattern", f"code_search: the pattern is no {args.language} code"
                    ) from None
                for node in found:
                    first, *rest = node.text().split("\n")
                    tail = f"  [+{plural(len(rest), 'line')}]" if rest else ""
                    row = f"{source.name}:{node.range().start.line + 1}: {clip_bytes(first, _LINE)}{tail}"
                    rows.append(clean(row))
                if len(rows) > args.max_results:
                    more = True
                    break
        clipped = clip(rows, most=args.max_results, room=MAX_BYTES)
        note = [f"[the first {clipped.lines:,}; narrow the pattern or path]"] if more else []
        return plain("\n".join([*([clipped.text] if rows else ["no matches"]), *note]), matches=len(rows))


class CodeMapTool:
    """Names what a folder defines, the most used first."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(self, workspace: Workspace, searcher: Callable[[], Searcher]) -> None:
        self._workspace, self._searcher = workspace, searcher
        self.spec = ToolSpec(
            "code_map",
            "Outline a folder: its definitions, those that most other files name first, within a budget.",
            schema_of(CodeMapArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Check the place."""
        args = decode(CodeMapArguments, arguments, tool="code_map")
        if args.tokens < 1:
            raise ToolFailure("invalid_arguments", "code_map: tokens begins at 1")
        target = to_read(self._workspace, args.path)
        return Prepared(
            tool="code_map",
            arguments=msgspec.to_builtins(args),
            effects=(target.effect("read"),),
            run=lambda context: self._run(target, args, context),
            summary=f"code_map {relative(self._workspace, target.path)}",
        )

    def _run(self, target: Target, args: CodeMapArguments, context: RunContext) -> ToolOutcome:
        made: list[Definition] = []
        users: Counter[str] = Counter()
        with failures(args.path):
            for source in _sources(self._workspace, self._searcher(), target, set(DEFINITIONS), context.stop):
                users.update(set(_WORD.findall(source.text)))
                made += definitions(source)
        shown_text = draw(made, users, min(args.tokens * 4, MAX_BYTES))
        return plain(clean(shown_text) or "no definitions", definitions=len(made))


def definitions(source: Source) -> list[Definition]:
    """What a file defines, in order."""
    from ast_grep_py import SgRoot

    rule: Any = {"rule": {"any": [{"kind": kind} for kind in DEFINITIONS[source.language].split()]}}
    found = []
    for node in SgRoot(source.text, source.language).root().find_all(rule):
        field = node.field("name") or node.field("declarator")
        words = _WORD.search(field.text()) if field is not None else None
        if words is not None:
            first = clip_bytes(node.text().split("\n", 1)[0].rstrip(" {:"), _LINE)
            found.append(Definition(source.name, node.range().start.line + 1, words[0], first))
    return sorted(found, key=lambda made: made.line)


def draw(made: list[Definition], users: Counter[str], room: int) -> str:
    """The best definitions that fit into `room` bytes, by file, the files of the best first."""
    ranked = sorted(made, key=lambda one: (-users[one.name], one.file, one.line))
    chosen: dict[str, list[Definition]] = {}
    left = 0
    for one in ranked:
        cost = len(f"{one.line}: {one.words}\n".encode("utf-8", "replace")) + 2
        cost += 0 if one.file in chosen else len(one.file.encode("utf-8", "replace")) + 1
        if cost > room - 60:
            left += 1
            continue
        room -= cost
        chosen.setdefault(one.file, []).append(one)
    lines: list[str] = []
    for file, inside in chosen.items():
        lines.append(file)
        lines += [f"  {one.line}: {one.words}" for one in sorted(inside, key=lambda one: one.line)]
    if left:
        lines.append(f"[{plural(left, 'definition')} more; raise tokens or narrow path]")
    return "\n".join(lines)
