"""The teaching agent stands alone: the standard library, its own siblings, and one opt-in import."""

import ast
import re
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "crafting_agents"
FILES = sorted(FOLDER.glob("*.py"))
SIBLINGS = {file.stem for file in FILES} | {"exercises"}
OPTIONAL = ("openai_transport.py", "openai")


def imports(tree: ast.Module):
    """Every import as (top-level name or sibling, level, whether it is inside a function)."""
    inside = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], 0, node in inside
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            for name in names:
                yield name.partition(".")[0], node.level, node in inside


def is_allowed(file: str, name: str, level: int, inside: bool) -> bool:
    if level == 0:
        return name in sys.stdlib_module_names or (inside and (file, name) == OPTIONAL)
    return level == 1 and name in SIBLINGS and (name != "exercises" or file == "__main__.py")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_module_imports_only_the_standard_library_and_its_siblings(file):
    found = imports(ast.parse(file.read_text(encoding="utf-8")))

    assert [entry for entry in found if not is_allowed(file.name, *entry)] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_imported_by_a_name_made_at_run_time(file):
    text = file.read_text(encoding="utf-8")

    assert not re.search(r"\b(?:importlib|__import__|runpy|exec|eval)\b", text)


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import json, asyncio.tasks", True),
        ("from .core import Message", True),
        ("from . import core", True),
        ("import wisp", False),
        ("from wisp.loop import runner", False),
        ("from ..library import thing", False),
        ("import openai", False),
        ("def f():\n    import openai", True),
        ("def f():\n    import pytest", False),
        ("if True:\n    import openai", False),
    ],
)
def test_the_check_itself_tells_good_imports_from_bad(code, allowed):
    found = list(imports(ast.parse(code)))

    assert allowed is all(is_allowed("openai_transport.py", *entry) for entry in found)


def test_the_optional_import_is_allowed_in_one_file_only():
    assert not is_allowed("responses.py", "openai", 0, True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_stay_short(file):
    lines = len(file.read_text(encoding="utf-8").splitlines())

    assert lines <= (150 if file.stem.startswith("checkpoint") else 249)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_regions_are_closed_in_order_and_named_once(file):
    marks = re.findall(r"^ *# (region|endregion): (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    opened = [name for kind, name in marks if kind == "region"]

    assert marks == [(kind, name) for name in opened for kind in ("region", "endregion")]
    assert len(opened) == len(set(opened))
