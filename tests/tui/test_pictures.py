"""Pictures: shown where the terminal says that it can, named everywhere."""

from __future__ import annotations

import base64
import os
import re
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tui.conftest import Open
from tui.screen import Screen, needs_tmux
from tui.test_terminal_wishes import Raw

from wisp.frontends.tui.keyboard import Keyboard
from wisp.frontends.tui.look import DARK
from wisp.frontends.tui.pictures import HIGH, MARKS, PLACE, Picture, Pictures, png_size


def png(width: int, height: int, noise: int = 0) -> bytes:
    """A grey picture (PNG, third edition, 11.2), with some bytes that do not compress."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\x00" + b"\x80" * width for _ in range(height))
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
            chunk(b"tEXt", b"noise\x00" + b"x" * noise),
            chunk(b"IDAT", zlib.compress(rows)),
            chunk(b"IEND", b""),
        )
    )


def sent(written: str) -> bytes:
    """What a terminal puts together from the sequences of one picture."""
    chunks = re.findall(r"\x1b_G([^;\x1b]*);([^\x1b]*)\x1b\\", written)
    assert [keys.rsplit("m=", 1)[1] for keys, _ in chunks] == ["1"] * (len(chunks) - 1) + ["0"]
    assert all(len(data) <= 4096 for _, data in chunks)
    return base64.b64decode("".join(data for _, data in chunks))


@pytest.fixture
def terminal() -> Iterator[tuple[Pictures, list[str]]]:
    """A terminal that has said yes, and what it was sent; its cells have 10 by 20 pixels."""
    written: list[str] = []
    pictures = Pictures(written.append, lambda: None, lambda: (10, 20))
    pictures.state = "yes"
    yield pictures, written


def test_a_picture_is_sent_whole_and_its_cells_name_it_and_their_rows(
    terminal: tuple[Pictures, list[str]],
) -> None:
    """Transmitted once in pieces; placeholders have the number as their colour and count the rows."""
    pictures, written = terminal
    data = png(100, 60, noise=9000)
    picture = Picture(pictures, "a.png", "image/png", lambda: base64.b64encode(data).decode())
    strips = picture.lines(80, DARK)
    number = int(re.search(r"i=(\d+)", "".join(written))[1])  # type: ignore[index]

    assert sent("".join(written)) == data
    assert "a=T" in written[0] and "U=1" in written[0] and "c=10,r=3" in written[0]
    rows = [strip for strip in strips if PLACE in strip.text]
    assert [strip.text.strip() for strip in rows] == [
        PLACE + MARKS[row] + MARKS[0] + PLACE * 9 for row in range(3)
    ]
    for strip in rows:
        (cell,) = [segment for segment in strip if PLACE in segment.text]
        assert cell.style is not None and cell.style.color is not None
        assert cell.style.color.triplet is not None
        assert int(cell.style.color.triplet.hex[1:], 16) == number
        assert strip.cell_length == 80


def test_another_width_sends_a_size_and_not_the_picture(terminal: tuple[Pictures, list[str]]) -> None:
    """Nor is it asked for again: what was sent is let go."""
    pictures, written = terminal
    asked: list[str] = []

    def load() -> str:
        asked.append("")
        return base64.b64encode(png(900, 300)).decode()

    picture = Picture(pictures, "a.png", "image/png", load)
    picture.lines(80, DARK)
    first = len(written)
    picture.lines(40, DARK)
    picture.lines(40, DARK)

    assert len(asked) == 1
    assert [len(written) - first, "a=p" in written[-1], "c=35" in written[-1]] == [1, True, True]


@pytest.mark.parametrize("size", [(1, 1), (10_000, 10), (10, 10_000), (3000, 3000)])
def test_no_picture_is_wider_or_higher_than_its_room(
    size: tuple[int, int], terminal: tuple[Pictures, list[str]]
) -> None:
    """At least one cell, at most the width that is there and as many rows as can be counted."""
    columns, rows = terminal[0].size(size, 60)

    assert 1 <= columns <= 60
    assert 1 <= rows <= HIGH


@pytest.mark.parametrize("data", ["", "####", base64.b64encode(b"GIF89a").decode(), "iVBORw0KGgo="])
def test_what_is_no_png_is_named_and_not_sent(data: str, terminal: tuple[Pictures, list[str]]) -> None:
    """Cut ones too."""
    pictures, written = terminal
    picture = Picture(pictures, "a\x1b[2J.png", "image/x", lambda: data)

    assert "a.png  image/x" in "".join(strip.text for strip in picture.lines(60, DARK))
    assert (written, png_size(data)) == ([], None)


def test_a_terminal_of_another_name_is_sent_nothing() -> None:
    """It is asked for its name once, when the first picture comes into sight."""
    written: list[str] = []
    pictures = Pictures(written.append, lambda: None, lambda: (10, 20))
    pictures.state = "unasked"
    picture = Picture(pictures, "a.png", "image/png", lambda: base64.b64encode(png(9, 9)).decode())
    picture.lines(60, DARK)
    picture.lines(50, DARK)
    pictures.answered("XTerm(390)", "")
    pictures.answered("XTerm(390)", "OK")
    picture.lines(40, DARK)

    assert written == ["\x1b[>0q"]


@pytest.mark.parametrize("cut", range(40))
def test_answers_of_the_terminal_are_no_keys_wherever_a_read_ends(cut: int) -> None:
    """Name and graphics, between typed letters."""
    stream = "a\x1bP>|kitty(0.35.1)\x1b\\b\x1b_Gi=31;OK\x1b\\c"
    keyboard = Keyboard()

    assert keyboard.feed(stream[:cut]) + keyboard.feed(stream[cut:]) == "abc"
    assert (keyboard.name, keyboard.graphics) == ("kitty(0.35.1)", "OK")


@pytest.mark.process
@pytest.mark.timeout(300)
def test_a_picture_that_the_model_looked_at_is_shown_in_a_terminal_that_can(world: Open) -> None:
    """The whole way, in a pseudo-terminal that answers as kitty does; nothing is asked before."""
    program, _ = world(
        {"calls": [{"name": "read", "arguments": {"path": "dot.png"}}]}, {"text": "A grey dot."}
    )
    data = png(40, 40)
    (program.project / "dot.png").write_bytes(data)
    terminal = Raw(program)
    terminal.until(b"all keys")
    assert b"\x1b[>0q" not in terminal.seen
    os.write(terminal.fd, b"look\r")
    terminal.until(b"\x1b[>0q")
    os.write(terminal.fd, b"\x1bP>|kitty(0.35.1)\x1b\\")
    terminal.until(b"a=q")
    os.write(terminal.fd, b"\x1b_Gi=31;OK\x1b\\")
    terminal.until(PLACE.encode())
    written = terminal.seen.decode(errors="replace")
    terminal.end()
    assert b"\x1b_Ga=d,d=I" in terminal.seen  # the terminal need not keep it

    assert sent(written[written.index("\x1b_Ga=T") :].partition("\x1b\\")[0] + "\x1b\\") == data


@pytest.mark.process
@pytest.mark.timeout(300)
@pytest.mark.skipif(needs_tmux, reason="tmux is not here")
def test_a_picture_is_named_where_the_terminal_cannot_show_it(world: Open, tmp_path: Path) -> None:
    """Behind tmux too, which answers with its own name."""
    program, _ = world(
        {"calls": [{"name": "read", "arguments": {"path": "dot.png"}}]}, {"text": "A grey dot."}
    )
    (program.project / "dot.png").write_bytes(png(40, 40))
    with Screen(program, "look") as screen:
        screen.wait("A grey dot.")
        screen.wait("image/png")
        time.sleep(0.5)

        assert PLACE not in screen.text()
