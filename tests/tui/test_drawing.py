"""Pure parts of the screen: colours, diffs, cards, ranking, characters."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.frontends.tui import graphemes, keys
from wisp.frontends.tui.diffs import diff_lines, is_diff
from wisp.frontends.tui.entries import Card, Looked, Said
from wisp.frontends.tui.feed import add_card
from wisp.frontends.tui.lines import console
from wisp.frontends.tui.look import LOOKS, Look
from wisp.frontends.tui.markdown import coloured
from wisp.frontends.tui.past import told
from wisp.frontends.tui.rank import ranked
from wisp.messages.content import Text, ToolCall
from wisp.messages.message import AssistantMessage, ToolResult, user

DARK = LOOKS["wisp-dark"]


def luminance(colour: str) -> float:
    """WCAG 2.2: relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2: contrast ratio."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("look", LOOKS.values(), ids=lambda look: look.name)
def test_text_stands_out_from_every_ground_it_is_drawn_on(look: Look) -> None:
    """4.5:1, the minimum of WCAG 2.2, 1.4.3."""
    on_ground = [look.text, look.dim, look.accent, look.good, look.bad, look.warn]
    pairs = [
        *itertools.product(on_ground, [look.background, look.panel]),
        *itertools.product([look.text], [look.added, look.removed, look.added_word, look.removed_word]),
    ]

    assert [(a, b, round(contrast(a, b), 2)) for a, b in pairs if contrast(a, b) < 4.5] == []


@pytest.mark.parametrize("look", LOOKS.values(), ids=lambda look: look.name)
def test_code_stands_out_from_its_ground_whatever_a_language_calls_its_words(look: Look) -> None:
    """Comments, strings, names and faults; WCAG 2.2, 1.4.3."""
    code = "# why\nimport os\n@final\nclass A(B):\n    x: int = 0x1f + None  # \n    def f(s): return f'{s}\\n'\n$?"
    for language in ("python", "javascript", "bash", "html", "diff", "json", "rust"):
        text = coloured(code, language, look)
        for part in text.render(console()):
            colour = part.style.color if part.style else None
            if part.text.strip() and colour and colour.triplet:
                assert contrast(colour.triplet.hex, look.panel) >= 4.5, (language, part.text)


def test_the_grey_look_has_no_colour() -> None:
    """For NO_COLOR."""
    colours = [value for value in LOOKS["wisp-grey"] if str(value).startswith("#")]

    assert all(value[1:3] == value[3:5] == value[5:7] for value in colours)


def rows(diff: str, width: int = 60, **more: int) -> list[str]:
    return [line.text.rstrip() for line in diff_lines(diff, width, DARK, **more)]


def test_a_diff_is_drawn_with_the_line_numbers_of_both_sides() -> None:
    """Old numbers for what goes, new ones for what comes and stays."""
    diff = "--- a/x\n+++ b/x\n@@ -3,4 +3,5 @@\n same\n-old\n+new\n+more\n tail\n"

    assert is_diff(diff)
    assert rows(diff) == ["3   same", "4 - old", "4 + new", "5 + more", "6   tail"]


def test_changed_lines_that_look_like_headers_are_changes() -> None:
    """`--- x` may be the text `-- x` that goes."""
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old comment\n+++ new\n same\n"

    assert rows(diff) == ["1 - -- old comment", "1 + ++ new", "2   same"]


def test_git_and_the_drawing_agree_on_what_changed(tmp_path: Path) -> None:
    """A second implementation: the lines of `git diff` are all there."""
    before = [f"line {n}" for n in range(60)]
    after = [*before[:10], "ten", *before[11:40], *before[42:], "end"]
    (tmp_path / "a").write_text("\n".join(before) + "\n")
    (tmp_path / "b").write_text("\n".join(after) + "\n")
    done = subprocess.run(
        ["git", "diff", "--no-index", "a", "b"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    wanted = [
        line
        for line in done.stdout.splitlines()[4:]
        if line.startswith(("+", "-")) and line[:3] not in ("+++", "---")
    ]
    drawn = [row.split(None, 1)[1] for row in rows(done.stdout) if " - " in row[:8] or " + " in row[:8]]

    assert drawn == [f"{line[0]} {line[1:]}" for line in wanted]


def test_a_long_diff_is_shown_from_both_ends_with_the_count_between() -> None:
    """No line is left out without a word."""
    diff = "--- a/x\n+++ b/x\n@@ -0,0 +1,100 @@\n" + "".join(f"+{n}\n" for n in range(100))

    shown = rows(diff, most=30)

    assert len(shown) == 31
    assert "… 70 more lines" in shown[20]
    assert shown[-1].endswith("+ 99")


@given(st.text(st.sampled_from("a/-_é世"), max_size=30), st.integers(1, 50))
def test_every_row_of_a_diff_is_as_wide_as_the_screen(text: str, width: int) -> None:
    """Wide characters and narrow screens included."""
    diff = f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{text}\n+{text}x\n"

    assert {line.cell_length for line in diff_lines(diff, width, DARK)} == {width}


def test_calls_that_only_look_are_one_line_and_a_fault_among_them_is_seen() -> None:
    """Reading is folded, failing is not."""
    entries = told(
        [
            AssistantMessage(
                tuple(ToolCall(str(n), "read", json.dumps({"path": f"{n}.py"})) for n in range(3))
            ),
            ToolResult("0", "read", (Text("a"),)),
            ToolResult("1", "read", (Text("no such file"),), is_error=True, code="not_found"),
            ToolResult("2", "read", (Text("b"),)),
        ]
    )
    assert len(entries) == 1
    shown = "\n".join(line.text for line in entries[0].lines(80, DARK))

    assert "looked at  read 0.py · read 1.py · read 2.py" in shown
    assert "no such file" in shown


def test_a_call_with_an_effect_stands_alone() -> None:
    """Between two that look, too."""
    entries = told(
        [
            AssistantMessage(
                (
                    ToolCall("1", "read", "{}"),
                    ToolCall("2", "bash", '{"command": "true"}'),
                    ToolCall("3", "read", "{}"),
                )
            )
        ]
    )

    assert [type(entry) for entry in entries] == [Card, Card, Card]
    assert isinstance(add_card(entries, Card("4", "ls", "{}")), Looked)


def test_earlier_messages_become_what_they_were_when_they_were_said() -> None:
    """Prompt, answer, call with its output."""
    entries = told(
        [
            user("do it"),
            AssistantMessage((Text("yes"), ToolCall("1", "bash", '{"command": "echo hi"}'))),
            ToolResult("1", "bash", (Text("hi"),)),
        ]
    )

    assert [entry.plain() for entry in entries] == ["do it", "yes", "bash echo hi\nhi"]


@given(st.integers(1, 40), st.text(max_size=60))
def test_what_a_person_said_is_as_wide_as_the_screen(width: int, text: str) -> None:
    """Whatever it holds."""
    assert {line.cell_length for line in Said(text).lines(width, DARK)} == {width}


def test_the_last_part_of_a_path_counts_most() -> None:
    """As a person means it who types the beginning of a name."""
    names = ["docs/testing/readme.md", "src/test_app.py", "src/app.py", "lib/appendix/x.py"]

    assert ranked("app", names)[:2] == ["src/app.py", "src/test_app.py"]
    assert ranked("sap", names)[0] == "src/app.py"
    assert ranked("APP", names) == []
    assert ranked("zzz", names) == []


@given(st.text("abc/", min_size=1, max_size=4), st.lists(st.text("abc/", max_size=8), max_size=20))
def test_exactly_the_names_with_the_letters_in_order_are_offered(query: str, names: list[str]) -> None:
    """Compared with the plain definition."""

    def holds(name: str) -> bool:
        letters = iter(name)
        return all(char in letters for char in query)

    assert sorted(ranked(query, names, 100)) == sorted(name for name in names if holds(name))


@pytest.mark.parametrize(
    "text",
    [
        "👨‍👩‍👧‍👦",
        "🇩🇪",
        "🇩🇪🇫🇷",
        "e\u0301",
        "กำ",
        "❤️",
        "👍🏽",
        "a世b",
        "की",
        "\u1112\u1161\u11ab",
        "하\u11ab\u1100",
    ],
)
def test_the_cursor_never_stands_within_a_character(text: str) -> None:
    """Through it and back: the same places; by Unicode's own list of what belongs together."""
    counts = {
        "👨‍👩‍👧‍👦": 1,
        "🇩🇪": 1,
        "🇩🇪🇫🇷": 2,
        "e\u0301": 1,
        "❤️": 1,
        "👍🏽": 1,
        "a世b": 3,
        "กำ": 1,
        "की": 1,
        "\u1112\u1161\u11ab": 1,
        "하\u11ab\u1100": 2,
    }
    places = [0]
    while places[-1] < len(text):
        places.append(graphemes.after(text, places[-1]))
    back = [len(text)]
    while back[-1] > 0:
        back.append(graphemes.before(text, back[-1]))

    assert back[::-1] == places
    assert len(places) - 1 == counts.get(text, len(places) - 1)


def test_the_guide_names_every_key() -> None:
    """The page and the help screen say the same."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "screen.md").read_text("utf-8")

    missing = [key for _, group in keys.KEYS for key, does in group if f"| `{key}` | {does} |" not in page]

    assert missing == []
