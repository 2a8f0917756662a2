"""What the transcript is made of: one object for each thing that is shown, with its lines for a width.

Entries hold words, not events; `feed` fills them.  Knows no widget and no host.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from textual.strip import Strip

from wisp.frontends.tui.lines import Segment, Text, blank, clipped, fitted, lines_of, space
from wisp.frontends.tui.look import TONES, Look
from wisp.host.showing import Shown, flat, one_line, safe, trimmed
from wisp.host.showing import lines as shown_lines

TAIL = 5
"""Lines of a running command's output that are shown."""
HEAD = 8
"""Lines of a result that are shown while the card is closed, where it is shown at all."""
DIFF = 24
"""Lines of a diff that are shown while the card is closed."""
OPEN = 2_000
"""Lines of an opened card."""
THIN = 1_500
"""Characters of an output that are kept once it is far behind."""
KEPT = 200_000
"""Characters of one output that the screen keeps."""
READING = ("read", "grep", "find", "ls")
"""Tools that only look; their cards are folded together."""


class Entry:
    """One thing in the transcript.  Lines are kept until it changes."""

    opened = False
    """Whether all of it is shown."""

    def __init__(self) -> None:
        self._lines: list[Strip] = []
        self._key: tuple[object, ...] = ()
        self._version = 0

    def lines(self, width: int, look: Look) -> list[Strip]:
        """Its lines, an empty one first."""
        key = (width, look.name, look.spoken, self._version, self.opened)
        if key != self._key:
            self._lines, self._key = [blank(width, look.style()), *self.draw(width, look)], key
        return self._lines

    @property
    def version(self) -> int:
        """Counts its changes."""
        return self._version

    def touch(self) -> None:
        """It changed: draw it again when it is next looked at."""
        self._version += 1

    def forget(self) -> None:
        """Let the drawn lines go; they are drawn again when they are next looked at."""
        self._lines, self._key = [], ()

    def toggle(self) -> None:
        """Show all of it, or no longer."""
        self.opened = not self.opened

    def draw(self, width: int, look: Look) -> list[Strip]:
        """Its lines without space around them."""
        raise NotImplementedError

    def plain(self) -> str:
        """Its words, for searching and copying."""
        raise NotImplementedError


class Said(Entry):
    """What a person said; or a notice to the model, which is shown like a note."""

    def __init__(self, text: str, how: str = "") -> None:
        super().__init__()
        self.text = text
        self.how = how
        """How it was said, where that is not plain."""

    def draw(self, width: int, look: Look) -> list[Strip]:
        """On a ground of its own, the whole of it unless it is very long."""
        text = trimmed(safe(self.text))
        rows = shown_lines(text)
        if not self.opened and len(rows) > HEAD * 3:
            text = safe("\n".join([*rows[: HEAD * 2], f"… {len(rows) - HEAD * 2} more lines"]))
        base = look.style(on="panel")
        mark = Segment(safe(f"{look.mark('said')} "), look.style("accent", on="panel", bold=True))
        strips = lines_of(Text(text), max(1, width - len(mark.text) - 1), base)
        out = [
            fitted([mark if at == 0 else space(len(mark.text), base), *strip], width, base)
            for at, strip in enumerate(strips)
        ]
        if self.how:
            how = Segment(safe(f"  {self.how}"), look.style("dim", on="panel"))
            out.insert(0, fitted([how], width, base))
        return out

    def plain(self) -> str:
        """See `Entry.plain`."""
        return self.text


class Answer(Entry):
    """What the model says, in Markdown, while it says it and afterwards."""

    def __init__(self, text: str = "", *, whole: bool = False) -> None:
        super().__init__()
        from wisp.frontends.tui.markdown import Streamed  # not before the first frame

        self.body = Streamed(text, whole=whole, indent=2)
        self.withdrawn = ""

    def draw(self, width: int, look: Look) -> list[Strip]:
        """Indented by the room that marks have elsewhere."""
        if self.withdrawn:
            why = Text(safe(f"({flat(self.withdrawn)}: what stood here does not count)"), look.style("dim"))
            return lines_of(why, width, look.style(), 2)
        return self.body.lines(width, look)

    def plain(self) -> str:
        """See `Entry.plain`."""
        return "" if self.withdrawn else self.body.text

    def forget(self) -> None:
        """See `Entry.forget`."""
        super().forget()
        self.body.forget()


class Thinking(Entry):
    """What the model thinks: one row, more when it is opened."""

    def __init__(self, text: str = "", seconds: float | None = None) -> None:
        super().__init__()
        self.text = text
        self.seconds = seconds
        """How long it took; None while it lasts, negative where nobody knows."""

    def draw(self, width: int, look: Look) -> list[Strip]:
        """A row, or all."""
        base, dim = look.style(), look.style("dim", italic=True)
        took = "" if self.seconds is None or self.seconds < 0.5 else f" for {took_text(self.seconds)}"
        word, mark = "thinking…" if self.seconds is None else f"thought{took}", look.mark("thought")
        if self.opened:
            return [
                fitted([Segment(safe(f"  {mark} {word}"), dim)], width, base),
                *lines_of(Text(safe(safe(self.text).strip()), dim), width - 1, base, 4),
            ]
        some = flat(self.text[-400:] if self.seconds is None else self.text[:400])
        room = max(0, width - len(word) - len(mark) - 7)
        told = safe(some[-room:]) if self.seconds is None else clipped(some, room)
        head = Segment(safe(f"  {mark} {word}  "), dim)
        return [fitted([head, Segment(told if room > 12 else safe(""), look.style("dim"))], width, base)]

    def plain(self) -> str:
        """See `Entry.plain`."""
        return self.text


class Note(Entry):
    """Something the program says."""

    def __init__(self, text: str, tone: Literal["dim", "good", "warn", "bad"] = "dim") -> None:
        super().__init__()
        self.text = text
        self.tone = tone

    def draw(self, width: int, look: Look) -> list[Strip]:
        """As it is, line by line."""
        lead = Segment(safe(f"  {look.mark(self.tone)} "), look.style(self.tone))
        room = max(1, width - len(lead.text) - 1)
        strips = lines_of(Text(trimmed(safe(self.text))), room, look.style(self.tone))
        rest = space(len(lead.text), look.style())
        return [
            fitted([lead if at == 0 else rest, *strip], width, look.style())
            for at, strip in enumerate(strips)
        ]

    def plain(self) -> str:
        """See `Entry.plain`."""
        return self.text


class Welcome(Entry):
    """What stands on an empty screen: where one is, and the first keys to know."""

    ROWS = (
        ("Enter", "sends"),
        ("/", "commands"),
        ("@", "files"),
        ("Shift+Tab", "permission mode"),
        ("Esc", "stops a run"),
        ("F1", "all keys"),
    )

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def draw(self, width: int, look: Look) -> list[Strip]:
        """A name, a place, some keys."""
        text = Text.assemble(
            (safe("wisp"), look.style("accent", bold=True)),
            (safe(f"  {one_line(self.where, 300)}\n\n"), look.style("dim")),
        )
        for key, does in self.ROWS:
            text.append(safe(f"{key:10}"), look.style())
            text.append(safe(f" {does}\n"), look.style("dim"))
        text.right_crop(1)
        return lines_of(text, width, look.style(), 2)

    def plain(self) -> str:
        """See `Entry.plain`."""
        return ""


class Card(Entry):
    """One call of a tool, from the moment it is asked for."""

    def __init__(self, call_id: str, name: str, arguments: str) -> None:
        super().__init__()
        self.call_id = call_id
        self.name = name
        self.arguments = arguments
        self.state: Literal["waiting", "asking", "running", "done", "failed", "refused"] = "waiting"
        self.since = 0.0
        """When it began, by the event loop's clock; 0 where that is not known."""
        self.took = 0.0
        self.now = 0.0
        self.summary = ""
        self.output = ""
        self.diff = ""
        self.live: list[str] = []

    @property
    def reading(self) -> bool:
        """Whether it only looked, without a fault."""
        return self.name in READING and self.state not in ("failed", "refused", "asking")

    def progress(self, text: str) -> None:
        """More live output."""
        rest = (self.live.pop() if self.live else "") + text
        self.live = [*self.live, *rest.split("\n")][-TAIL - 1 :]
        self.touch()

    def ended(self, output: str, *, code: str, error: bool, details: dict[str, Any]) -> None:
        """It is over."""
        self.state = "refused" if code == "denied" else "failed" if error else "done"
        self.output = output[:KEPT]
        self.live = []
        diff = details.get("diff")
        self.diff = diff[:KEPT] if isinstance(diff, str) else self.diff if self.state == "done" else ""
        self.touch()

    def thin(self) -> None:
        """Keep less of what is far behind; the whole of it is in the conversation's file."""
        self.output = self.output[-THIN:] if len(self.output) > THIN else self.output
        self.arguments = self.arguments if len(self.arguments) < 4 * THIN else "{}"
        self.diff = self.diff if len(self.diff) < 8 * THIN else ""
        self.touch()

    def title(self) -> Shown:
        """What it does, on one line."""
        return one_line(self.summary, 400) or flat(f"{self.name} {one_line(subject(self.arguments), 300)}")

    def draw(self, width: int, look: Look) -> list[Strip]:
        """A line that says what it is, then as much of what came of it as is useful."""
        base = look.style()
        mark, tone = look.mark(self.state), TONES[self.state]
        seconds = self.now - self.since if self.state == "running" and self.since else self.took
        after = f"  {took_text(seconds)}" if seconds >= (1 if self.state == "running" else 0.1) else ""
        name, _, rest = self.title().partition(" ")
        room = max(1, width - len(name) - len(after) - len(mark) - 5)
        line = Text.assemble(
            (safe(f"  {mark} "), look.style(tone)),
            (safe(name), look.style("text", bold=True)),
            (safe(f" {clipped(safe(rest), room)}"), look.style()),
            (safe(after), look.style("dim")),
        )
        return [*lines_of(line, width, base)[:1], *self._body(width, look)]

    def _body(self, width: int, look: Look) -> list[Strip]:
        base, dim = look.style(), look.style("dim")
        if self.state == "running":
            live = [clipped(safe(row), width - 5) for row in self.live if row.strip()][-TAIL:]
            return [fitted([Segment(safe(f"    {row}"), dim)], width, base) for row in live]
        out: list[Strip] = []
        if self.diff:
            from wisp.frontends.tui.diffs import diff_lines

            out += diff_lines(safe(self.diff), width - 1, look, most=OPEN if self.opened else DIFF, indent=4)
            out = [strip.adjust_cell_length(width, base) for strip in out]
            if not self.opened or self.state == "done":  # what the model was told is this diff again
                return out
        if self.opened and self.arguments and not self.diff:
            out += lines_of(Text(pretty(self.arguments), dim), width - 1, base, 4)[:OPEN]
        bad = self.state in ("failed", "refused")
        if not (self.opened or bad or self.name in ("bash", "process")):
            return out
        most = OPEN if self.opened else HEAD
        rows = shown_lines(safe(self.output)) if self.output.strip() else []
        hidden = len(rows) - most
        if hidden > 0:
            rows = rows[-most:]
            out.append(fitted([Segment(safe(f"    … {hidden} lines above"), dim)], width, base))
        style = look.style("bad") if bad and self.name != "bash" else dim
        for row in rows:
            if self.opened:
                out += lines_of(Text(row, style), width - 1, base, 4)
            else:
                text = clipped(safe(row.replace("\t", "    ")), width - 5)
                out.append(fitted([Segment(safe(f"    {text}"), style)], width, base))
        return out

    def plain(self) -> str:
        """See `Entry.plain`."""
        return "\n".join(part for part in (self.title(), self.diff, self.output) if part)


class Looked(Entry):
    """Calls that only looked, one after another: a line for all, a card for each when it is opened."""

    def __init__(self, cards: list[Card]) -> None:
        super().__init__()
        self.cards = cards

    def lines(self, width: int, look: Look) -> list[Strip]:
        """See `Entry.lines`; a card that changed changes this."""
        self._version = sum(card.version for card in self.cards) + len(self.cards)
        return super().lines(width, look)

    def draw(self, width: int, look: Look) -> list[Strip]:
        """What was looked at."""
        if self.opened:
            out: list[Strip] = []
            for card in self.cards:
                card.opened = True
                out += card.draw(width, look)
            return out
        running = any(card.state in ("running", "waiting") for card in self.cards)
        words = [f"{card.name} {one_line(subject(card.arguments), 60)}".strip() for card in self.cards]
        mark = look.mark("running" if running else "done")
        line = Text.assemble(
            (safe(f"  {mark} "), look.style("accent" if running else "good")),
            (safe("looking at  " if running else "looked at  "), look.style("text", bold=True)),
            (clipped(safe(" · ".join(words)), max(1, width - 14 - len(mark))), look.style("dim")),
        )
        faulty = [strip for card in self.cards if not card.reading for strip in card.draw(width, look)]
        return [*lines_of(line, width, look.style())[:1], *faulty]

    def plain(self) -> str:
        """See `Entry.plain`."""
        return "\n".join(card.plain() for card in self.cards)


def subject(arguments: str) -> str:
    """What a call is about: its command, file or pattern."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return ""
    if not isinstance(value, dict):
        return ""
    for key in ("command", "pattern", "path", "file_path", "url", "name", "operation", "question"):
        if isinstance(value.get(key), str):
            more = value.get("path") if key == "pattern" else None
            return f"{value[key]} in {more}" if isinstance(more, str) else value[key]
    return next((item for item in value.values() if isinstance(item, str)), "")


def pretty(arguments: str) -> Shown:
    """A call's arguments for reading: text as text."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return safe(arguments)
    if not isinstance(value, dict):
        return safe(arguments)
    rows = [
        f"{key}: {item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}"
        for key, item in value.items()
    ]
    return safe("\n".join(rows))


def took_text(seconds: float) -> str:
    """A time for people: `0.4 s`, `12 s`, `3 min 5 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
