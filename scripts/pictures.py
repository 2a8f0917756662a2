"""Pictures of the screen for people to look at: the real program in a terminal emulator, in sizes and themes.

    python scripts/pictures.py FOLDER

Writes one SVG for each scene, size and theme; any browser shows them.  Needs tmux.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from process.program import Program
from process.server import ServerThread
from tui.screen import Screen

SIZES = ((30, 8), (80, 24), (200, 50))
THEMES = ("dark", "light", "grey", "reader", "inline")
GROUND = {"dark": (0x14, 0x16, 0x1B), "light": (0xFB, 0xFB, 0xF9), "grey": (0x12, 0x12, 0x12)}
GROUND |= {"reader": GROUND["dark"], "inline": GROUND["dark"]}
ANSWER = """# What was wrong

`add` subtracts. The sign has to change; *nothing else* does, as **test_add** shows:

1. read `calculator.py`
2. change one line
   - the operator
   - not the names

| call | before | after |
|---|---:|---:|
| `add(2, 3)` | -1 | 5 |
| `add(0, 0)` | 0 | 0 |

> Tests are the judge.

```python
def add(a: int, b: int) -> int:
    # the sum
    return a + b  # 世界 👍
```

See [the docs](https://example.org/docs).
"""
EDIT = {"path": "calculator.py", "edits": [{"old_text": "return a - b", "new_text": "return a + b"}]}
STEPS: list[dict[str, Any]] = [
    {
        "text": "I look first.",
        "thinking": "The person wants it repaired, so I read the file.",
        "calls": [
            {"name": "read", "arguments": {"path": "calculator.py"}},
            {"name": "grep", "arguments": {"pattern": "def"}},
        ],
    },
    {"text": "Now the change.", "calls": [{"name": "edit", "arguments": EDIT}]},
    {
        "text": "And a test.",
        "calls": [{"name": "bash", "arguments": {"command": "python3 -c 'print(1+1)'; false"}}],
    },
    {"text": ANSWER},
]
Scene = Callable[[Screen], None]


def _question(screen: Screen) -> None:
    screen.wait(lambda text: "[y]" in text)


def _answer(screen: Screen) -> None:
    for _ in range(2):
        _question(screen)
        time.sleep(0.6)
        screen.keys("y")
        time.sleep(1.0)
    screen.wait("the docs")
    time.sleep(0.3)


def _keys(*names: str) -> Scene:
    def scene(screen: Screen) -> None:
        for name in names:
            if len(name) > 1 and name[0] == "'":
                screen.type(name[1:])
            else:
                screen.keys(name)
            time.sleep(0.7)

    return scene


def _models(screen: Screen) -> None:
    _keys("Escape", "'/model", "Enter")(screen)
    screen.wait(lambda text: "Models" in text)


SCENES: tuple[tuple[str, Scene], ...] = (
    ("1-question", _question),
    ("2-answer", _answer),
    ("3-opened", _keys("C-o")),
    ("4-menu", _keys("C-o", "'/co")),
    ("5-help", _keys("C-u", "F1")),
    ("6-sent", _keys("Escape", "C-r")),
    ("7-models", _models),
    ("8-changes", _keys("Escape", "'/changes", "Enter")),
    ("9-sessions", _keys("Escape", "'/resume", "Enter")),
)


def picture(text: str, width: int, theme: str, into: Path) -> None:
    """What the emulator holds, as an SVG."""
    ground = GROUND[theme]
    colours = [(0, 0, 0)] * 8
    console = Console(
        record=True,
        width=width,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        _environ={},
    )
    for line in Text.from_ansi(text).split("\n"):  # colours go on from line to line
        console.print(line, no_wrap=True, crop=True)
    kept = TerminalTheme(ground, (200, 200, 200), colours, colours)
    into.write_text(console.export_svg(title=into.stem, theme=kept))


def main() -> None:
    """Make them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", default="")
    parser.add_argument("--theme", default="")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for width, height in SIZES:
        for theme in THEMES:
            if args.size not in ("", f"{width}x{height}") or args.theme not in ("", theme):
                continue
            with (
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
                ServerThread(STEPS, lenient=True) as server,
            ):
                program = Program(
                    Path(folder, "home"), Path(folder, "calc"), url=server.base_url("openai-chat")
                )
                (program.project / "calculator.py").write_text("def add(a, b):\n    return a - b\n")
                env = {"NO_COLOR": "1"} if theme == "grey" else {}
                if theme == "reader":
                    settings = program.home / "config" / "settings.toml"
                    settings.write_text(settings.read_text() + "\n[screen]\nreader = true\n")
                words = ["--inline"] if theme == "inline" else []
                with Screen(program, *words, width=width, height=height, env=env) as screen:
                    screen.wait("What shall be")
                    if theme == "light":
                        _keys("'/theme light", "Enter")(screen)
                    time.sleep(0.5)
                    picture(
                        screen.text(styled=True),
                        width,
                        theme,
                        args.folder / f"0-empty-{width}x{height}-{theme}.svg",
                    )
                    screen.type("repair add, please")
                    screen.keys("Enter")
                    for name, scene in SCENES:
                        scene(screen)
                        into = args.folder / f"{name}-{width}x{height}-{theme}.svg"
                        picture(screen.text(styled=True), width, theme, into)
                        print(into)


if __name__ == "__main__":
    main()
