"""From outcomes to the text a model reads: limits with honest footers, output without screen tricks."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_LINES = 2000
MAX_BYTES = 50_000

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_OVERWRITTEN = re.compile(r"[^\n\r]*\r+(?=[^\n\r])")


class Clipped(NamedTuple):
    """As many lines as fit."""

    text: str
    lines: int
    """How many they are."""


def clip(lines: list[str], most: int = MAX_LINES, room: int = MAX_BYTES) -> Clipped:
    """The first lines that fit into `most` lines and `room` bytes of UTF-8, joined."""
    taken = 0
    for line in lines[:most]:
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < -1:
            break
        taken += 1
    return Clipped("\n".join(lines[:taken]), taken)


def clip_bytes(text: str, room: int) -> str:
    """The beginning of `text` that fits into `room` bytes of UTF-8, never half a character."""
    return text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")


def plain_output(text: str) -> str:
    """What a program printed as a dumb printer would leave it: no escapes, no overwritten progress lines."""
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = _OVERWRITTEN.sub("", text.replace("\r\n", "\n")).replace("\r", "")
    return _CONTROLS.sub(_visible, text)


def plural(count: int, noun: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _visible(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]):02x}"
