"""Which rows the menu shows for what stands before the cursor, and what a chosen row does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wisp.frontends.tui.menu import Row
from wisp.frontends.tui.rank import ranked
from wisp.host.showing import flat, safe, shown

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.talk import Talk
    from wisp.host.slash import SlashCommand

_FILE = re.compile(r"(?:^|[\s(\[\"'])@([^\s@]*)$")
_PLAIN = re.compile(r"[\w./+~,:=%@#-]+")
OWN = (
    ("keys", "what each key does", ""),
    ("changes", "what the runs changed; comment on it, undo it", ""),
    ("settings", "every setting and where it comes from", ""),
    ("doctor", "what works here", ""),
    ("find", "look for words in the whole conversation", "WORDS"),
)
"""Commands of the screen itself: name, help, arguments."""


def commands(typed: str, known: list[SlashCommand]) -> list[Row]:
    """Commands whose name begins with, then those whose name or help holds, what was typed after `/`."""
    rows = [(c.name, c.help, c.arguments) for c in known] + list(OWN)
    word = typed.lower()
    first = [row for row in rows if row[0].startswith(word)]
    more = [row for row in rows if row not in first and word in row[0]]
    helped = [
        row for row in rows if row not in first and row not in more and len(word) > 2 and word in row[1]
    ]
    return [
        Row(
            flat(f"/{name} {arguments}"), flat(help_), f"/{name} " if arguments else f"/{name}", not arguments
        )
        for name, help_, arguments in [*first, *more, *helped]
    ]


def files(typed: str, known: list[str]) -> list[Row]:
    """Files that could be meant by what was typed after `@`."""
    return [
        Row(safe(shown(path).replace("\n", "\\n").replace("\t", "\\t")), insert="@" + quoted(path))
        for path in ranked(typed, known)
    ]


def quoted(path: str) -> str:
    """A path as it is written in a message: in quotes where it would not end plainly."""
    return path if _PLAIN.fullmatch(path) else '"' + path.replace('"', '\\"') + '"'


async def suggest(app: WispApp, talk: Talk) -> None:
    """Show what could be meant now."""
    composer, menu, client = app.composer, app.menu, talk.client
    before = composer.before_cursor()
    if app.answers.wanted or composer.text in composer.sent[-1:]:
        app.show_menu([])
        return
    row, _ = composer.cursor_location
    if row == 0 and _begins_command(before) and composer.text == before:
        app.show_menu(commands(before[1:], client.commands()), before, len(before))
    elif found := _FILE.search(before):
        known = await client.around.files()
        if composer.before_cursor() == before:
            app.show_menu(files(found[1], known), before, len(found[1]) + 1)
    elif menu.open:
        app.show_menu([])


def _begins_command(before: str) -> bool:
    return re.fullmatch(r"/[\w:-]*", before) is not None


def take(app: WispApp, *, enter: bool) -> bool:
    """Put the marked row into the text; whether Enter should send it now.

    Keys may be faster than the menu: one of other words than stand there now is made anew, or not used.
    """
    before = app.composer.before_cursor()
    if before != app.menu.of:
        if app.talk is None or not _begins_command(before):
            app.show_menu([])
            return enter
        app.show_menu(commands(before[1:], app.talk.client.commands()), before, len(before))
    row = app.menu.chosen
    if row is None:
        return False
    text = row.insert or row.text
    whole = app.composer.before_cursor()[-app.menu.typed :] == text.rstrip()
    app.composer.complete(app.menu.typed, text if text.startswith("/") else text + " ")
    app.show_menu([])
    return enter and (row.runs or whole)
