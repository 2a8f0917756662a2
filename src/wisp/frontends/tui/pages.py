"""Pages that only tell: servers, skills, settings, what works here, what fills the window, keys.

Each asks the host once and shows a table; nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import ConsoleRenderable, Group
from rich.padding import Padding
from rich.table import Table

from wisp.frontends.tui import keys
from wisp.frontends.tui.lines import Text
from wisp.frontends.tui.look import Look
from wisp.frontends.tui.picker import Page
from wisp.host.queries import GetContext, GetMcp, GetSkills
from wisp.host.showing import Shown, flat, named, one_line, safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.talk import Talk

BAR = 30
"""Cells of the longest bar."""
LARGEST = 8
"""Messages named one by one."""
GOOD, BAD = ("ok", "started", "used"), ("problem", "failed")


async def page(app: WispApp, talk: Talk, name: str) -> bool:
    """Show the page of that name; whether there is one."""
    made = {
        "help": _help,
        "mcp": _mcp,
        "skills": _skills,
        "settings": _settings,
        "doctor": _doctor,
        "context": _context,
    }.get(name)
    if made is None:
        return False
    title, body = await made(app.look, talk)
    app.push_screen(Page(app.look, title, body))
    return True


def table(look: Look, rows: Iterable[tuple[Shown, str, Shown]], wide: int = 34) -> Table:
    """Rows of a name, its tone and what is said of it, which is wrapped beside the name.

    The spaces at the beginning of a name stay where it is wrapped, so nothing of a row is among the headings.
    """
    made = Table.grid(padding=(0, 1))
    made.add_column(max_width=wide, overflow="fold")
    made.add_column(ratio=1, overflow="fold")
    for name, tone, words in rows:
        text = Text(safe(name.lstrip(" ")), look.style(tone or "text"))
        indent = len(name) - len(name.lstrip(" "))
        made.add_row(Padding(text, (0, 0, 0, indent)), Text(words, look.style("dim")))
    return made


def _head(look: Look, words: Shown) -> Text:
    return Text(words, look.style("accent", bold=True))


async def _help(look: Look, talk: Talk) -> tuple[Shown, ConsoleRenderable]:
    rows: list[tuple[Shown, str, Shown]] = []
    empty = safe("")
    for title, keyed in keys.KEYS:
        rows.append((safe(title), "accent", empty))
        rows += [(safe(f"  {key}"), "", safe(does)) for key, does in keyed]
        rows.append((empty, "", empty))
    rows.append((safe("Commands"), "accent", empty))
    for one in talk.client.commands():
        rows.append((safe(f"  {flat(f'/{one.name} {one.arguments}')}"), "", flat(one.help)))
    return safe("Keys and commands"), table(look, rows)


async def _mcp(look: Look, talk: Talk) -> tuple[Shown, ConsoleRenderable]:
    found = await talk.client.query(GetMcp())
    parts: list[ConsoleRenderable] = []
    for server in found.servers:
        parts.append(
            Text.assemble(
                (one_line(server.name, 60), look.style("accent", bold=True)),
                (safe(f"  {server.status}"), look.style(_tone(server.status))),
                (safe(f"  {server.tools} tools" if server.tools else ""), look.style("dim")),
                (safe(f"  {one_line(server.origin, 200)}" if server.origin else ""), look.style("dim")),
            )
        )
        if server.error:
            parts.append(Text(safe(f"  {flat(server.error)}"), look.style("bad")))
        mine = [name for name in found.tools if name.startswith(f"mcp__{server.name}__")]
        parts += [Text(safe(f"  {named(name.rpartition('__')[2])}"), look.style("text")) for name in mine]
        parts.append(Text())
    words = safe("none is configured; wisp mcp add NAME -- COMMAND adds one")
    return safe("MCP servers"), Group(*parts) if parts else Text(words, look.style("dim"))


async def _skills(look: Look, talk: Talk) -> tuple[Shown, ConsoleRenderable]:
    found = await talk.client.query(GetSkills())
    rows = ((flat(f"/{row['name']} {row['arguments']}"), "", _said(row)) for row in found.skills)
    notes = [Text(flat(f"! {note}"), look.style("warn")) for note in found.notes]
    return safe("Skills and commands"), Group(table(look, rows), *notes)


def _tone(status: str) -> str:
    return "good" if status in GOOD else "bad" if status in BAD else "warn" if status == "missing" else "dim"


def _said(row: Any) -> Shown:
    return safe(f"{one_line(row['description'] or row['kind'], 400)}  ({named(row['source'])})")


async def _settings(look: Look, talk: Talk) -> tuple[Shown, ConsoleRenderable]:
    rows = await talk.client.around.settings()
    set_: list[tuple[Shown, str, Shown]] = []
    rest: list[tuple[Shown, str, Shown]] = []
    for row in rows:
        value, built_in = row["value"], row["origin"] == "built in"
        words = safe(one_line(str(value), 300) + ("" if built_in else f"   from {named(str(row['origin']))}"))
        (rest if built_in else set_).append((named(str(row["name"])), "" if built_in else "good", words))
    parts: list[ConsoleRenderable] = [_head(look, safe("Set")), table(look, set_), Text()] if set_ else []
    last = Text(safe("wisp config set NAME VALUE changes one; /reload takes it"), look.style("dim"))
    return safe("Settings"), Group(*parts, _head(look, safe("As built in")), table(look, rest), Text(), last)


async def _doctor(look: Look, talk: Talk) -> tuple[Shown, ConsoleRenderable]:
    rows = await talk.client.around.doctor()
    return safe("What works here"), table(
        look,
        (
            (named(f"{row['status']:8} {row['name']}"), _tone(row["status"]), flat(row["detail"]))
            for row in rows
        ),
    )


async def _context(look: Look, talk: Talk) -> tuple[Shown, ConsoleRenderable]:
    found = await talk.client.query(GetContext())
    head = f"about {found.total:,} tokens ({'by the last count' if found.measured else 'estimated'})"
    if found.window:
        head += f" of {found.window:,}: {100 * found.total / found.window:.0f} %"
        head += f"; {found.reserve:,} are kept free for the answer"
    kinds: dict[str, int] = {}
    for part in found.parts:
        kinds[part.kind] = kinds.get(part.kind, 0) + part.tokens
    most = max(kinds.values(), default=1) or 1
    rows = Table.grid(padding=(0, 1))
    for kind, tokens in sorted(kinds.items(), key=lambda item: -item[1]):
        bar = "█" * max(1, round(BAR * tokens / most)) if tokens else ""
        rows.add_row(
            Text(flat(kind.replace("_", " ")), look.style()),
            Text(safe(f"{tokens:,}"), look.style("dim"), justify="right"),
            Text(safe(bar), look.style("accent")),
        )
    whole = [part for part in found.parts if not part.message_id]
    largest = sorted((part for part in found.parts if part.message_id), key=lambda part: -part.tokens)[
        :LARGEST
    ]
    parts: list[ConsoleRenderable] = [Text(safe(head), look.style()), Text(), rows]
    for title, some in (("Parts", whole), ("Largest messages", largest)):
        if some:
            lines = ((safe(f"{part.tokens:,}"), "dim", one_line(part.name, 300)) for part in some)
            parts += [Text(), _head(look, safe(title)), table(look, lines)]
    return safe("What the next request holds"), Group(*parts)
