"""The screens besides the conversation: kept conversations, branches, models, what was said, help.

Each shows rows of the host and ends as a command to it.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from wisp.frontends.tui.asking import ask_trust
from wisp.frontends.tui.changes import show_changes
from wisp.frontends.tui.lines import Text
from wisp.frontends.tui.pages import page
from wisp.frontends.tui.past import told
from wisp.frontends.tui.picker import Act, Item, Picker, leave
from wisp.frontends.tui.pressing import find
from wisp.host.client import CommandRefused
from wisp.host.showing import Shown, beginning, flat, one_line, safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp
    from wisp.frontends.tui.talk import Talk

LOOKED_AT = 12
"""Messages of a kept conversation that are shown before it is opened."""


async def show(app: WispApp, talk: Talk, line: str) -> bool:
    """Show the screen that a command without arguments asks for; whether there is one."""
    name, _, rest = line[1:].partition(" ")
    screens: dict[str, Any] = {
        "resume": _sessions,
        "tree": _tree,
        "model": _models,
        "changes": show_changes,
        "trust": ask_trust,
    }
    if name == "theme":
        app.wishes.use(rest.strip())
    elif name == "find":
        find(app, talk, rest.strip())
    elif name in screens and not rest.strip():
        return bool(await screens[name](app, talk))
    elif not rest.strip():
        return await page(app, talk, {"keys": "help", "?": "help"}.get(name, name))
    else:
        return False
    return True


def open_page(app: WispApp, talk: Talk, name: str) -> None:
    """What a key opens."""
    if name == "help":
        app.keep(help_page(app, talk))
    elif name == "find":
        find(app, talk, "")
    else:
        app.keep(sent_before(app, talk))


async def help_page(app: WispApp, talk: Talk) -> None:
    """Keys and commands."""
    await page(app, talk, "help")


async def _sessions(app: WispApp, talk: Talk) -> bool:
    around = talk.client.around
    now = talk.client.snapshot().session_id

    async def items(*, everywhere: bool) -> list[Item]:
        found = await around.sessions(everywhere=everywhere)
        return [
            Item(
                info.id,
                one_line(info.name or info.title or "(empty)", 200),
                safe((f"{one_line(info.cwd, 60)}  " if everywhere else "") + _when(info.modified)),
                info.id,
            )
            for info in found
            if info.id != now
        ]

    async def preview(item: Item) -> Text:
        try:
            messages = await around.last_messages(item.id, LOOKED_AT)
        except (LookupError, OSError) as exc:
            return Text(safe(str(exc)), app.look.style("bad"))
        text = Text()
        for entry in told(messages):
            style = app.look.style("accent" if type(entry).__name__ == "Said" else "text")
            text.append(safe(f"{beginning(safe(entry.plain()), 1500)}\n\n"), style)
        return text

    async def everywhere() -> list[Item]:
        return await items(everywhere=True)

    def chosen(item: Item | None) -> None:
        if item is not None:
            app.keep(talk.slash(f"/resume {item.id}"))

    picker = Picker(
        app.look,
        safe("Conversations"),
        await items(everywhere=False),
        preview=preview,
        other=("all folders", everywhere),
        acts=_session_acts(app, talk),
    )
    app.push_screen(picker, chosen)
    return True


def _session_acts(app: WispApp, talk: Talk) -> dict[str, Act]:
    """What can be done with a conversation of the list besides going on with it."""
    around = talk.client.around
    gone: list[str] = []

    def rename(picker: Picker, item: Item) -> None:
        async def named(name: str) -> bool:
            try:
                await around.rename(item.id, name.strip())
            except CommandRefused as exc:
                talk.note(str(exc), "warn")
            app.keep(talk.slash("/resume"))
            return True

        leave(picker, None)
        app.answers.ask("the new name of the conversation; Esc leaves it", named, hint="enter renames")

    def fork(picker: Picker, item: Item) -> None:
        async def go() -> None:
            try:
                new = await around.fork(item.id)
            except CommandRefused as exc:
                talk.note(str(exc), "warn")
            else:
                await talk.slash(f"/resume {new}")

        leave(picker, None)
        app.keep(go())

    def remove(picker: Picker, item: Item) -> None:
        async def go() -> None:
            try:
                await around.remove(item.id)
            except CommandRefused as exc:
                picker.say(str(exc))
            else:
                gone.append(item.id)
                picker.without(item)
                picker.say(f"{one_line(item.text, 30)} is in the trash; Ctrl+U brings it back")

        app.keep(go())

    def restore(picker: Picker, item: Item | None) -> None:
        async def go() -> None:
            try:
                await around.restore(gone.pop())
            except CommandRefused as exc:
                picker.say(str(exc))
            else:
                picker.back()

        if gone:
            app.keep(go())

    return {
        "ctrl+t": Act("renames", rename),
        "ctrl+b": Act("copies", fork),
        "ctrl+x": Act("throws away", remove),
        "ctrl+u": Act("", restore, needs_row=False),
    }


async def _tree(app: WispApp, talk: Talk) -> bool:
    entries = await talk.client.around.tree()
    if not entries:
        return False
    items, mark = [], 0
    for number, entry in enumerate(entries):
        sign = "●" if entry.leaf else "│" if entry.current else " "
        label = f" [{one_line(entry.label, 30)}]" if entry.label else ""
        who = {"user": "you", "assistant": "model", "tool_result": "tool"}.get(entry.kind, entry.kind)
        words = f"{'  ' * entry.depth}{sign} {who}: {one_line(entry.text, 200)}{label}"
        items.append(Item(str(entry.number), safe(words), safe(str(entry.number))))
        mark = number if entry.leaf else mark

    def chosen(item: Item | None) -> None:
        if item is not None:
            app.keep(talk.slash(f"/tree go {item.id}"))

    app.push_screen(Picker(app.look, safe("Branches: go on from a message"), items, mark=mark), chosen)
    return True


async def _models(app: WispApp, talk: Talk) -> bool:
    app.say_for_a_moment("looking for models…")
    rows = await talk.client.around.models()
    items = [
        Item(
            f"{row.get('provider')}/{row.get('model')}",
            safe(f"{one_line(str(row.get('provider')), 40)}/{one_line(str(row.get('model')), 80)}"),
            _facts(row),
        )
        for row in rows
    ]
    if not items:
        return False

    def chosen(item: Item | None) -> None:
        if item is not None:
            app.keep(talk.slash(f"/model {item.id}"))

    now = talk.client.snapshot()
    here = f"{now.provider}/{now.model}"
    mark = next((n for n, item in enumerate(items) if item.id == here), 0)
    app.push_screen(Picker(app.look, flat(f"Models (now {here})"), items, mark=mark), chosen)
    return True


def _facts(row: Any) -> Shown:
    """Window and price of a model, as far as they are known."""
    parts = []
    if window := row.get("context_window"):
        parts.append(f"{window // 1000:,}k" if window >= 1000 else str(window))
    price = row.get("price") or {}
    if price.get("input") is not None and price.get("output") is not None:
        parts.append(f"${price['input']:g} in, ${price['output']:g} out a million")
    if row.get("status"):
        parts.append(str(row["status"]))
    return flat(" · ".join(parts))


async def sent_before(app: WispApp, talk: Talk) -> None:
    """Look through what was sent before."""
    await talk.recall()
    items = [Item(text, one_line(text, 300)) for text in reversed(app.composer.sent)]

    def chosen(item: Item | None) -> None:
        if item is not None:
            app.composer.put(item.id)

    app.push_screen(Picker(app.look, safe("Sent before"), items), chosen)


def _when(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
