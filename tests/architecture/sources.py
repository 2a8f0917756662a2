"""The source of wisp as syntax trees, and the tables of the architecture page, for the tests beside it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "wisp"


@cache
def modules() -> dict[str, ast.Module]:
    """Every module by its path below `src/wisp`."""
    return {
        str(path.relative_to(SOURCE)): ast.parse(path.read_text("utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }


def package_of(module: str) -> str:
    """The package a module path belongs to; a top-level module is its own."""
    head = module.split("/")[0]
    return head.removesuffix(".py")


def imports(tree: ast.Module) -> list[tuple[str, int]]:
    """Every imported module with its line, wherever the import stands."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module in ("wisp", *(f"wisp.{name}" for name in packages())):
                found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
            else:
                found.append((node.module, node.lineno))
    return found


@cache
def packages() -> tuple[str, ...]:
    """Names of the packages directly below wisp."""
    return tuple(path.name for path in SOURCE.iterdir() if path.is_dir())


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below `## heading` on the architecture page, header left out."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows[2:]]


def names(cell: str) -> list[str]:
    """The comma-separated names of a cell."""
    return [name for name in re.split(r",\s*", cell) if name]
