"""Pages that only tell: servers, skills, settings, what works here, what fills the window, keys.

Each asks the host once and shows a table; nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wisp.frontends.tui import keys
from wisp.frontends.tui.look import Look
from wisp.frontends.tui.picker import Page
from wisp.host.queries import GetContext, GetMcp, GetSkills
from wisp.host.showing import one_line, safe

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


def table(look: Look, rows: Iterable[tuple[str, str, str]], wide: int = 34) -> Table:
    """Rows of a name, its tone and what is said of it, which is wrapped beside the name.

    The spaces at the beginning of a name stay where it is wrapped, so nothing of a row is among the headings.
    """
    made = Table.grid(padding=(0, 1))
    made.add_column(max_width=wide, overflow="fold")
    made.add_column(ratio=1, overflow="fold")
    for name, tone, words in rows:
        text = Text(name.lstrip(" "), look.style(tone or "text"))
        indent = len(name) - len(name.lstrip(" "))
        made.add_row(Padding(text, (0, 0, 0, indent)), Text(words, look.style("dim")))
    return made


def _head(look: Look, words: str) -> Text:
    return Text(words, look.style("accent", bold=True))


async def _help(look: Look, talk: Talk) -> tuple[str, RenderableType]:
    rows: list[tuple[str, str, str]] = []
    for title, keyed in keys.KEYS:
        rows += [(title, "accent", ""), *(("  " + key, "", does) for key, does in keyed), ("", "", "")]
    rows.append(("Commands", "accent", ""))
    for one in talk.client.commands():
        rows.append((f"  /{one.name} {one.arguments}".rstrip(), "", safe(one.help)))
    return "Keys and commands", table(look, rows)


async def _mcp(look: Look, talk: Talk) -> tuple[str, RenderableType]:
    found = await talk.client.query(GetMcp())
    parts: list[RenderableType] = []
    for server in found.servers:
        parts.append(
            Text.assemble(
                (one_line(server.name, 60), look.style("accent", bold=True)),
                (f"  {server.status}", look.style(_tone(server.status))),
                (f"  {server.tools} tools" if server.tools else "", look.style("dim")),
                (f"  {one_line(server.origin, 200)}" if server.origin else "", look.style("dim")),
            )
        )
        if server.error:
            parts.append(Text(f"  {safe(server.error)}", look.style("bad")))
        mine = [name for name in found.tools if name.startswith(f"mcp__{server.name}__")]
        parts += [Text(f"  {safe(name.rpartition('__')[2])}", look.style("text")) for name in mine]
        parts.append(Text())
    words = "none is configured; wisp mcp add NAME -- COMMAND adds one"
    return "MCP servers", Group(*parts) if parts else Text(words, look.style("dim"))


async def _skills(look: Look, talk: Talk) -> tuple[str, RenderableType]:
    found = await talk.client.query(GetSkills())
    rows = (
        (f"/{safe(row['name'])} {safe(row['arguments'])}".rstrip(), "", _said(row)) for row in found.skills
    )
    notes = [Text(f"! {safe(note)}", look.style("warn")) for note in found.notes]
    return "Skills and commands", Group(table(look, rows), *notes)


def _tone(status: str) -> str:
    return "good" if status in GOOD else "bad" if status in BAD else "warn" if status == "missing" else "dim"


def _said(row: Any) -> str:
    return f"{one_line(row['description'], 400) or row['kind']}  ({safe(row['source'])})"


async def _settings(look: Look, talk: Talk) -> tuple[str, RenderableType]:
    rows = await talk.client.around.settings()
    set_: list[tuple[str, str, str]] = []
    rest: list[tuple[str, str, str]] = []
    for row in rows:
        value, built_in = row["value"], row["origin"] == "built in"
        words = f"{one_line(str(value), 300)}" + ("" if built_in else f"   from {safe(str(row['origin']))}")
        (rest if built_in else set_).append((safe(str(row["name"])), "" if built_in else "good", words))
    parts: list[RenderableType] = [_head(look, "Set"), table(look, set_), Text()] if set_ else []
    last = Text("wisp config set NAME VALUE changes one; /reload takes it", look.style("dim"))
    return "Settings", Group(*parts, _head(look, "As built in"), table(look, rest), Text(), last)


async def _doctor(look: Look, talk: Talk) -> tuple[str, RenderableType]:
    rows = await talk.client.around.doctor()
    return "What works here", table(
        look,
        (
            (f"{row['status']:8} {safe(row['name'])}", _tone(row["status"]), safe(row["detail"]))
            for row in rows
        ),
    )


async def _context(look: Look, talk: Talk) -> tuple[str, RenderableType]:
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
            Text(kind.replace("_", " "), look.style()),
            Text(f"{tokens:,}", look.style("dim"), justify="right"),
            Text(bar, look.style("accent")),
        )
    named = [part for part in found.parts if not part.message_id]
    largest = sorted((part for part in found.parts if part.message_id), key=lambda part: -part.tokens)[
        :LARGEST
    ]
    parts: list[RenderableType] = [Text(head, look.style()), Text(), rows]
    for title, some in (("Parts", named), ("Largest messages", largest)):
        if some:
            lines = ((f"{part.tokens:,}", "dim", one_line(part.name, 300)) for part in some)
            parts += [Text(), _head(look, title), table(look, lines)]
    return "What the next request holds", Group(*parts)
