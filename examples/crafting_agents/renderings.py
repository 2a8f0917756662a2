"""Chapter 9: the same events as text, as JSON lines and as a tiny screen.

Owns how things look and nothing else.  Every function takes events or a view, and returns text.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from .host import Event, View, first_line


# region: renderings
def printable(text: str) -> str:
    """Text that cannot move the cursor: what a model or a file says must not draw on the person's screen."""
    return "".join(character if character.isprintable() else " " for character in text)


def as_text(event: Event) -> str | None:
    """A line for a terminal or a log; None for what would only repeat."""
    match event.kind:
        case "user" | "assistant":
            return f"{event.kind}: {event.body['text']}"
        case "call":
            return f"call {event.body['call']}: {event.body['name']} {event.body['arguments']}"
        case "result":
            return f"result {event.body['call']}: {first_line(event.body['text'])}"
        case "asked" | "answered" | "ended":
            return f"{event.kind}: {', '.join(str(value) for value in event.body.values())}"
        case _:
            return None


def as_json(event: Event) -> str:
    """One line of JSON for a program."""
    return json.dumps(asdict(event))


def from_json(line: str) -> Event:
    """Read an event.  Fields that a newer engine added are left alone."""
    fields = json.loads(line)
    return Event(fields["seq"], fields["kind"], fields["body"])


def as_screen(view: View, width: int = 60, height: int = 8) -> str:
    """A screen for a person: the last lines, what is arriving, and a status line."""
    body = [*view.lines, *([view.draft] if view.draft else [])][-(height - 1) :]
    body = [printable(line)[:width].ljust(width) for line in (*body, *[""] * (height - 1 - len(body)))]
    status = printable(f"[{view.state}] {view.question}")[:width].ljust(width)
    edge = "+" + "-" * width + "+"
    return "\n".join([edge, *(f"|{line}|" for line in (*body, status)), edge])


# endregion: renderings
