"""Pictures in the transcript: a line that says what it is, and the picture itself where the terminal can.

By the kitty graphics protocol with Unicode placeholders: the picture is sent once, and cells of ordinary
text stand for its parts, so that it scrolls, is covered and drawn again like any text.  The terminal is asked
what it is (XTVERSION) when the first picture comes into sight, and whether it takes pictures only where its
name is one of those that know placeholders; what was not answered is not assumed.
"""

from __future__ import annotations

import base64
import binascii
import os
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from rich.color import Color
from rich.style import Style
from textual.strip import Strip

from wisp.frontends.tui.driver import CELL, ScreenDriver
from wisp.frontends.tui.entries import Entry
from wisp.frontends.tui.lines import Segment, clipped, fitted, space
from wisp.frontends.tui.look import Look
from wisp.host.showing import Shown, one_line, safe

if TYPE_CHECKING:
    from wisp.frontends.tui.app import WispApp

ASK_NAME = "\x1b[>0q"
ASK_GRAPHICS = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
PLACEHOLDERS = ("kitty(", "ghostty")
"""How terminals call themselves that draw pictures where placeholders stand."""
PLACE = "\U0010eeee"
# The first of the combining characters by which the protocol counts rows and columns.
MARKS = (
    "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357\u035b"
    "\u0363\u0364\u0365\u0366\u0367\u0368\u0369"
)
HIGH = len(MARKS)
"""Rows that a picture has at most."""
CHUNK = 4_096
"""Characters of data in one sequence."""
MOST = 8_000_000
"""Bytes of a file that are sent."""
PNG = b"\x89PNG\r\n\x1a\n"


class Pictures:
    """What one terminal shows.

    Args:
        write: sends to the terminal.
        changed: called when it has answered, and pictures are to be drawn anew.
        cell: width and height of a character in pixels, as far as they are known.
    """

    def __init__(
        self, write: Callable[[str], None], changed: Callable[[], None], cell: Callable[[], tuple[int, int]]
    ) -> None:
        self._write = write
        self._changed = changed
        self._cell = cell
        self.state: Literal["off", "unasked", "asked", "named", "yes", "no"] = "off"
        self._base = (os.getpid() % 60_000 + 1) << 8
        self._count = 0

    def entry(self, name: str, kind: str, load: Callable[[], str]) -> Picture:
        """The entry of a picture; see there."""
        return Picture(self, name, kind, load)

    def of_file(self, path: str) -> Picture:
        """The entry of a picture in a file, which is read when it comes into sight."""
        name = path.rsplit("/", 1)[-1]
        kind = name.rsplit(".", 1)[-1].lower() if "." in name else "picture"
        return Picture(self, name, kind, lambda: _read(path))

    def wanted(self) -> bool:
        """Whether pictures can be shown; asks the terminal when that is not known."""
        if self.state == "unasked":
            self.state = "asked"
            self._write(ASK_NAME)
        return self.state == "yes"

    def answered(self, name: str, graphics: str) -> None:
        """The terminal told its name and version, or whether it takes pictures."""
        if self.state == "asked" and name.lower().startswith(PLACEHOLDERS):
            self.state = "named"
            self._write(ASK_GRAPHICS)
        elif self.state == "named" and graphics:
            self.state = "yes" if graphics == "OK" else "no"
            self._changed()

    def number(self) -> int:
        """A number for a picture, which is also the colour of its cells."""
        self._count = self._count % 255 + 1
        return self._base | self._count

    def close(self) -> None:
        """Have the terminal forget them."""
        for count in range(1, self._count + 1):
            self._write(f"\x1b_Ga=d,d=I,i={self._base | count},q=2\x1b\\")
        self._count = 0

    def size(self, pixels: tuple[int, int], width: int) -> tuple[int, int]:
        """`(columns, rows)` of a picture of that many pixels, in at most `width` columns; never enlarged."""
        across, down = self._cell()
        columns, rows = pixels[0] / max(1, across), pixels[1] / max(1, down)
        share = min(1.0, width / columns, HIGH / rows)
        return max(1, round(columns * share)), max(1, min(HIGH, round(rows * share)))

    def send(self, number: int, columns: int, rows: int, data: str) -> None:
        """Send a PNG picture, or only its size where it was sent before (empty `data`)."""
        head = f"U=1,i={number},c={columns},r={rows},q=2"
        if not data:
            self._write(f"\x1b_Ga=p,{head}\x1b\\")
            return
        for at in range(0, len(data), CHUNK):
            keys = f"a=T,f=100,t=d,{head}," if at == 0 else ""
            more = int(at + CHUNK < len(data))
            self._write(f"\x1b_G{keys}m={more};{data[at : at + CHUNK]}\x1b\\")


class Picture(Entry):
    """One picture.

    Args:
        pictures: the terminal's.
        name: what it is called.
        kind: its media type.
        load: its bytes in base64; empty where it is not there any more.
    """

    def __init__(self, pictures: Pictures, name: str, kind: str, load: Callable[[], str]) -> None:
        super().__init__()
        self._pictures = pictures
        self._name = one_line(name, 200)
        self._kind = one_line(kind, 60)
        self._load = load
        self._pixels: tuple[int, int] | None = None
        self._number = 0
        self._placed = (0, 0)

    def draw(self, width: int, look: Look) -> list[Strip]:
        """A line, and rows of placeholders where the terminal shows something in their place."""
        rows = self._rows(max(1, width - 5)) if width > 12 and self._pictures.wanted() else []
        size = f", {self._pixels[0]} × {self._pixels[1]}" if self._pixels else ""
        words = clipped(safe(f"  {look.mark('picture')} {self._name}  {self._kind}{size}"), width)
        return [
            fitted([Segment(words, look.style("dim"))], width, look.style()),
            *(fitted([space(4, look.style()), Segment(*row)], width, look.style()) for row in rows),
        ]

    def plain(self) -> str:
        """See `Entry.plain`."""
        return self._name

    def _rows(self, width: int) -> list[tuple[Shown, Style]]:
        data = ""
        if not self._number:
            data = self._load()
            self._pixels = png_size(data)
            if self._pixels is None:
                return []
            self._number = self._pictures.number()
        assert self._pixels is not None
        columns, rows = placed = self._pictures.size(self._pixels, width)
        if data or placed != self._placed:
            self._pictures.send(self._number, columns, rows, data)
            self._placed = placed
            self._load = str  # it is with the terminal now
        style = Style(color=Color.from_rgb(*self._number.to_bytes(3)))
        return [(safe(PLACE + MARKS[row] + MARKS[0] + PLACE * (columns - 1)), style) for row in range(rows)]


def png_size(data: str) -> tuple[int, int] | None:
    """Width and height of a PNG picture in base64 (PNG, 11.2.2); None for anything else."""
    try:
        head = base64.b64decode(data[:32])
    except (binascii.Error, ValueError):
        return None
    if len(head) < 24 or not head.startswith(PNG):
        return None
    width, height = struct.unpack(">II", head[16:24])
    return (width, height) if width and height else None


def of_app(app: WispApp) -> Pictures:
    """The pictures of one screen: none inline, in grey, or where they are read aloud."""
    driver = app._driver

    def write(sequence: str) -> None:
        if driver is not None:
            driver.write(sequence)
            driver.flush()

    def changed() -> None:
        for entry in app.transcript.entries:
            if isinstance(entry, Picture):
                entry.touch()
        app.flush_soon()

    pictures = Pictures(write, changed, driver.cell if isinstance(driver, ScreenDriver) else lambda: CELL)
    colours = app.console.color_system == "truecolor" and not app.no_color
    if isinstance(driver, ScreenDriver) and colours and not app.wishes.settings.reader:
        pictures.state = "unasked"
    return pictures


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST + 1)
    except OSError:
        return ""
    return base64.b64encode(data).decode() if len(data) <= MOST else ""
