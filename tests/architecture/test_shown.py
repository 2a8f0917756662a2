"""What a person looks at is reached through one door a kind, and the doors take nothing but `Shown`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import pytest
from architecture.sources import ROOT, imports, modules, names, table

DOORS = {row[0]: names(row[1]) for row in table("One type for what is shown")}
PROGRAMS = ("host/judging.py", "host/worker.py", "testing/model_server.py", "tools/pdfpages.py")
"""Print for us alone, as the page says."""
MAKERS = "host/showing.py"
LOOKED_AT = ("fileno", "flush", "isatty")
"""What may be asked of a stream without writing to it."""


def _parents(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            yield parent, child


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _called(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield _dotted(node.func), node


def _streams(tree: ast.Module) -> list[int]:
    """Lines that print, prompt, or hold a standard stream for more than looking at it."""
    found = [line for name, line in imports(tree) if name.split(".")[0] in ("getpass", "logging", "warnings")]
    for parent, child in _parents(tree):
        if _dotted(child) in ("sys.stdout", "sys.stderr", "sys.__stdout__", "sys.__stderr__"):
            looked = isinstance(parent, ast.Attribute) and parent.attr in LOOKED_AT
            asked = isinstance(parent, ast.Call) and _dotted(parent.func) == "is_terminal"
            if not looked and not asked:
                found.append(child.lineno)  # type: ignore[attr-defined]
    for name, call in _called(tree):
        prints = name in ("print", "input", "breakpoint") or name.endswith((".print_help", ".print_usage"))
        raw = name == "os.write" and isinstance(call.args[0], ast.Constant)
        ends = name == "SystemExit" and any(isinstance(arg, ast.JoinedStr) for arg in call.args)
        if prints or raw or ends:
            found.append(call.lineno)
    return found


CHECKS: dict[str, Callable[[ast.Module], list[int]]] = {"standard streams": _streams}
BESIDE: dict[str, tuple[str, ...]] = {
    # of a child, whose output is captured and made safe where it is shown; of a library's alarms, which are
    # silenced there
    "standard streams": (
        *PROGRAMS,
        "workspace/pseudoterminal.py",
        "workspace/sandbox/forward.py",
        "workspace/matcher.py",
        "tools/images.py",
    ),
}


def test_the_page_and_the_checks_name_the_same_sinks() -> None:
    assert set(DOORS) == set(CHECKS)


@pytest.mark.parametrize("sink", sorted(CHECKS))
def test_nobody_but_its_door_reaches_a_sink(sink: str) -> None:
    """And the door does."""
    reaching = {module: lines for module, tree in modules().items() if (lines := CHECKS[sink](tree))}
    allowed = {*DOORS[sink], *BESIDE.get(sink, ())}

    assert {module: lines for module, lines in reaching.items() if module not in allowed} == {}
    assert allowed - set(reaching) == set()


def test_only_one_module_makes_what_is_shown() -> None:
    """`Shown(...)`, `cast(Shown, ...)` and a silenced type checker would make the type a lie."""
    making = []
    for module, tree in modules().items():
        for name, call in _called(tree):
            cast = name.endswith("cast") and any("Shown" in ast.dump(arg) for arg in call.args)
            if (name.split(".")[-1] == "Shown" or cast) and module != MAKERS:
                making.append(f"{module}:{call.lineno}")

    assert making == []


def test_what_is_not_made_safe_is_handed_over_only_where_the_page_says() -> None:
    """Each place has its reason there."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.split("What another program reads is handed over", 1)[1].split("Programs of ours", 1)[0]
    told = set(re.findall(r"^- `([^`]+)`: \w", section, re.MULTILINE))
    handing = {
        module for module, tree in modules().items() if any(name == "hand_over" for name, _ in _called(tree))
    }

    assert handing - {"frontends/cli/streams.py"} == told
