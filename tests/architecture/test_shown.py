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


def _imports(*wanted: str) -> Callable[[ast.Module], list[int]]:
    """Lines that import a module, or something of it."""

    def check(tree: ast.Module) -> list[int]:
        found = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                told = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                told = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            if any(name == door or name.startswith(f"{door}.") for name in told for door in wanted):
                found.append(node.lineno)
        return found

    return check


def _words(tree: ast.Module) -> list[int]:
    """Lines that get at rich's or Textual's own texts, or have them made of markup."""
    found = _imports(
        "rich.text", "rich.segment", "rich.console.Segment", "rich.markup", "rich.print", "rich.get_console",
        "rich.panel", "rich.columns", "rich.tree", "rich.live", "rich.status", "rich.progress", "rich.prompt",
        "rich.pretty", "rich.json", "rich.ansi", "rich.rule", "rich.align", "rich.traceback", "rich.logging",
        "textual.content", "textual.markup", "textual.visual", "textual.renderables", "textual.drivers._text",
    )(tree)  # fmt: skip
    for node in ast.walk(tree):
        if (isinstance(node, ast.Attribute) and node.attr in (
            "from_markup", "from_ansi", "append_tokens", "border_title", "border_subtitle",
            "sub_title", "tooltip", "render_str", "bell_text",
        )) or (isinstance(node, ast.Attribute) and _dotted(node).endswith(("app.notify", "self.notify"))):  # fmt: skip
            found.append(node.lineno)
        elif isinstance(node, ast.FunctionDef) and node.name == "render":
            returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return)]
            words = isinstance(node.returns, ast.Name) and node.returns.id == "str"
            if words and any(not (isinstance(one, ast.Constant) and one.value == "") for one in returned):
                found.append(node.lineno)  # Textual would read it as markup
    return found


def _widgets(tree: ast.Module) -> list[int]:
    """Lines that derive from a widget of Textual's that shows text, or import one that only shows."""
    found: list[int] = []
    if not _imports("textual")(tree) and not _imports("wisp.frontends.tui")(tree):
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            if {_dotted(base) for base in node.bases} & {"TextArea", "Input"}:
                found.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module == "textual.widgets":
            if {alias.name for alias in node.names} - {"TextArea", "Input"}:
                found.append(node.lineno)
        elif isinstance(node, ast.Call) and _dotted(node.func) in ("TextArea", "Input"):
            found.append(node.lineno)
    return found


def _constants(*wanted: str) -> Callable[[ast.Module], list[int]]:
    """Lines with a piece of text in which one of these stands."""
    return lambda tree: [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and any(word in node.value for word in wanted)
    ]


def _calls(*endings: str) -> Callable[[ast.Module], list[int]]:
    return lambda tree: [call.lineno for name, call in _called(tree) if name.endswith(endings)]


def _either(*checks: Callable[[ast.Module], list[int]]) -> Callable[[ast.Module], list[int]]:
    return lambda tree: [line for check in checks for line in check(tree)]


def _remarks(tree: ast.Module) -> list[int]:
    """A function `remark`, whose words are encoded and written to a descriptor."""
    return [
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "remark"
    ]


CHECKS: dict[str, Callable[[ast.Module], list[int]]] = {
    "standard streams": _streams,
    "a server's remarks on standard error": _remarks,
    "words on the screen": _words,
    "Markdown and code on the screen": _imports("rich.markdown", "rich.syntax"),
    "tables on the screen": _imports("rich.table", "rich.padding", "rich.console.Group", "rich.columns"),
    "fields to write in": _widgets,
    "title and notifications": _calls("_driver.write", "set_terminal_title"),
    "clipboard": _either(
        _calls("super.copy_to_clipboard", ".copy_to_clipboard"), _constants("]52;", "wl-copy", "pbcopy")
    ),
    "sequences that drive the terminal": _constants("\x1b"),
}
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
    # copies by the app's door, where no program of the display did
    "clipboard": ("frontends/tui/bringing.py",),
    # only loads it before it is needed
    "Markdown and code on the screen": ("frontends/tui/warming.py",),
    # measures styles; reads what a terminal sends; takes them out of what a model is told
    "sequences that drive the terminal": (
        "frontends/cli/flow.py",
        "frontends/tui/keyboard.py",
        "tools/render.py",
        "context/frontmatter.py",
    ),
}
"""Who does it without showing anything."""


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


def test_tables_hold_what_came_through_the_door_and_no_plain_words() -> None:
    """Rich would read a `str` in a table as markup; its types allow one."""
    plain = []
    for name, call in _called(modules()[DOORS["tables on the screen"][0]]):
        if name.endswith(("add_row", "Padding", "Group", "add_column")):
            held = call.args[:1] if name == "Padding" else call.args
            plain += [
                call.lineno for arg in held if isinstance(arg, ast.Constant | ast.JoinedStr | ast.BinOp)
            ]
            plain += [call.lineno for arg in held if isinstance(arg, ast.Attribute | ast.Subscript)]

    assert plain == []


@pytest.mark.parametrize(
    ("sink", "source"),
    [
        ("standard streams", "print(f'{x}')"),
        ("standard streams", "import sys\nout = sys.stdout\nout.write(x)"),
        ("standard streams", "sys.stderr.write(x)"),
        ("standard streams", "sys.stdout.buffer.write(x)"),
        ("standard streams", "input(x)"),
        ("standard streams", "from getpass import getpass"),
        ("standard streams", "import os\nos.write(2, x)"),
        ("standard streams", "import logging"),
        ("standard streams", "raise SystemExit(f'{x}')"),
        ("words on the screen", "from rich.text import Text"),
        ("words on the screen", "import rich.segment"),
        ("words on the screen", "from rich import text"),
        ("words on the screen", "app.notify(x)"),
        ("words on the screen", "self.border_title = x"),
        ("words on the screen", "class A:\n    def render(self) -> str:\n        return x"),
        ("words on the screen", "Text.from_markup(x)"),
        ("fields to write in", "from textual.widgets import Static"),
        ("fields to write in", "import textual\nclass A(TextArea): ..."),
        ("clipboard", "self.app.copy_to_clipboard(x)"),
        ("clipboard", "put(f'\\x1b]52;c;{x}\\x07')"),
        ("title and notifications", "app._driver.write(x)"),
        ("sequences that drive the terminal", "put(f'\\x1b]0;{x}\\x07')"),
    ],
)
def test_a_way_around_a_door_is_seen(sink: str, source: str) -> None:
    assert CHECKS[sink](ast.parse(source))
