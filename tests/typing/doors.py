"""Each way to a person with a text that nobody made safe; `test_doors_types.py` counts what mypy says.  Never run."""

from __future__ import annotations

from rich.style import Style

from wisp.frontends.acp.types import CallFields, PermissionChoice, ShownText
from wisp.frontends.cli.streams import complain, copy, hidden, put, rewrite, say
from wisp.frontends.tui.dialog import Ask, Choice
from wisp.frontends.tui.lines import Segment, Text, clipped, lines_of
from wisp.frontends.tui.menu import Row
from wisp.frontends.tui.picker import Item
from wisp.frontends.wire.pipes import remark
from wisp.host import clipboard
from wisp.host.showing import safe


def wrong(text: str) -> None:
    say(text)  # wrong
    say(f"{safe(text)}")  # wrong
    say(safe(text) + "x")  # wrong
    complain(text)  # wrong
    put(text)  # wrong
    rewrite(text)  # wrong
    copy(text)  # wrong
    hidden(text)  # wrong
    remark(2, text)  # wrong
    clipboard.copy(text, {})  # wrong
    Text(text)  # wrong
    Text(safe(text)).append(text)  # wrong
    Text.assemble((text, Style()))  # wrong
    Segment(text, Style())  # wrong
    clipped(text, 3)  # wrong
    lines_of(text, 3, Style())  # wrong
    Item("1", text)  # wrong
    Row(text)  # wrong
    Choice("y", ("y",), text)  # wrong
    Ask("1", text, safe(text), safe(text), ())  # wrong
    ShownText(text=text)  # wrong
    CallFields(tool_call_id="1", title=text)  # wrong
    PermissionChoice(option_id="1", name=text, kind="allow_once")  # wrong


def right(text: str) -> None:
    say(safe(f"{text}"))
    Text.assemble(safe(text), (safe(text), Style())).append(safe(text)).append(Text(safe(text)))
    lines_of(Text(safe(text)), 3, Style())
