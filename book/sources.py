"""Finds pieces of source code by name, so that a page never refers to a line number.

A selector is `file.py#region` for a region between `# region: name` and `# endregion: name`, or `file.py:name`
for what a name stands for: a top-level function, class or assignment, `Class.method`, `imports` (everything
down to the last import), `head` (everything above the first definition), `guard` (what runs when the file is a
program), or `A..B` (from A to the end of B).  A trailing `.head` means a class down to its first method or a
function down to the end of its docstring, and `.body` the rest.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class UnknownPiece(Exception):
    """The selector names nothing, or nothing unique."""


@dataclass(frozen=True)
class Piece:
    """Lines of one file, numbered from 1, both ends included."""

    path: Path
    first: int
    last: int

    @property
    def text(self) -> str:
        """The lines as they stand, without the marks of regions and without blank ones at either end."""
        every = self.path.read_text(encoding="utf-8").splitlines()[self.first - 1 : self.last]
        lines = [line for line in every if not line.strip().startswith(("# region: ", "# endregion: "))]
        # Where a region ended and the next began, four blank lines would be left.
        return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n") + "\n"


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def find(root: Path, selector: str) -> Piece:
    """Resolve a selector below a folder.

    Raises:
        UnknownPiece: The file, the region or the name is not there.
    """
    name, mark, what = partition(selector)
    path = root / name
    if not path.is_file():
        raise UnknownPiece(f"{selector}: there is no file {name}")
    if mark == "#":
        return Piece(path, *region(path, what))
    start, dots, end = what.partition("..")
    first, last = span(path, start)
    if dots:
        last = span(path, end)[1]
    if last < first:
        raise UnknownPiece(f"{selector}: {end} stands before {start}")
    return Piece(path, first, last)


def partition(selector: str) -> tuple[str, str, str]:
    """Split into the file, the mark and the name."""
    found = re.fullmatch(r"([\w./]+\.py)([#:])(.+)", selector)
    if found is None:
        raise UnknownPiece(f"{selector!r} is no selector")
    return found[1], found[2], found[3]


def region(path: Path, name: str) -> tuple[int, int]:
    """The lines between a region's marks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [n for n, line in enumerate(lines, 1) if line.strip() == f"# region: {name}"]
    ends = [n for n, line in enumerate(lines, 1) if line.strip() == f"# endregion: {name}"]
    if len(starts) != 1 or len(ends) != 1:
        raise UnknownPiece(f"{path.name} has {len(starts)} regions named {name!r}")
    return starts[0] + 1, ends[0] - 1


@cache
def parsed(path: Path, changed: int) -> ast.Module:
    """A file's syntax tree.  `changed` is its time of change, so that an edit is seen."""
    return ast.parse(path.read_text(encoding="utf-8"))


def tree_of(path: Path) -> ast.Module:
    """A file's syntax tree as it is now."""
    return parsed(path, path.stat().st_mtime_ns)


def span(path: Path, name: str) -> tuple[int, int]:
    """The lines that a name stands for."""
    body = tree_of(path).body
    if name == "imports":
        return 1, max(node.end_lineno or 1 for node in body if isinstance(node, ast.Import | ast.ImportFrom))
    if name == "head":
        first_definition = next((node for node in body if isinstance(node, Definition)), None)
        if first_definition is None:
            return 1, len(path.read_text(encoding="utf-8").splitlines())
        return 1, start_of(path, first_definition) - 1
    node: ast.AST | None = None
    part = ""
    for step in name.split("."):
        if step in ("head", "body") and isinstance(node, Definition):
            part = step
            break
        node = next((one for one in body if step in names_of(one)), None)
        if node is None:
            raise UnknownPiece(f"{path.name} has no {name}")
        body = node.body if isinstance(node, Definition) else []
    assert isinstance(node, ast.stmt)
    first, last = start_of(path, node), end_of(path, node)
    if part and isinstance(node, Definition):
        cut = cut_of(path, node)
        return (first, cut) if part == "head" else (cut + 1, last)
    return first, last


def names_of(node: ast.AST) -> list[str]:
    """What a statement defines; the guard at the end of a program is called `main guard`."""
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
        return ["guard"] if getattr(node.test.left, "id", "") == "__name__" else []
    return []


def start_of(path: Path, node: ast.stmt) -> int:
    """The first line of a statement, its decorators and the comment right above it included."""
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    lines = path.read_text(encoding="utf-8").splitlines()
    while first > 1 and (above := lines[first - 2].strip()).startswith("#") and "region:" not in above:
        first -= 1
    return first


def end_of(path: Path, node: ast.stmt) -> int:
    """The last line of a statement, with the string below an assignment that documents it."""
    last = node.end_lineno or node.lineno
    if isinstance(node, ast.Assign | ast.AnnAssign):
        for parent in ast.walk(tree_of(path)):
            inner = getattr(parent, "body", None)
            if isinstance(inner, list) and node in inner:
                after = inner[inner.index(node) + 1 : inner.index(node) + 2]
                if after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant):
                    last = after[0].end_lineno or last
    return last


def cut_of(path: Path, node: Definition) -> int:
    """Where a definition's head ends."""
    if isinstance(node, ast.ClassDef):
        method = next((one for one in node.body if isinstance(one, Definition)), None)
        return start_of(path, method) - 1 if method else node.end_lineno or node.lineno
    if ast.get_docstring(node) is not None:
        return node.body[0].end_lineno or node.lineno
    return node.body[0].lineno - 1


def executable_lines(path: Path) -> set[int]:
    """The lines that hold code: what the compiler has a line number for, docstrings left out."""
    tree = tree_of(path)
    documentation: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else []:
            if (
                isinstance(one, ast.Expr)
                and isinstance(one.value, ast.Constant)
                and isinstance(one.value.value, str)
            ):
                documentation.update(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    code = compile(tree, str(path), "exec")
    lines = {line for one in codes(code) for _, _, line in one.co_lines() if line}
    return lines - documentation


def codes(code: object) -> Iterator[object]:
    """A code object and those inside it."""
    yield code
    for constant in getattr(code, "co_consts", ()):
        if hasattr(constant, "co_lines"):
            yield from codes(constant)
