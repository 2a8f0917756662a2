"""Reading shows what is there, says what it leaves out, and never runs away."""

from __future__ import annotations

import base64
import os
import random
import tracemalloc
from pathlib import Path

import pytest
from tools.conftest import Bench

from wisp.messages.content import Image, Text


def test_text_is_shown_as_it_is(bench: Bench) -> None:
    (bench.folder / "f").write_text("one\n\ttwo\n")
    assert bench.call("read", path="f").text == "one\n\ttwo"


def test_two_thousand_lines_and_the_next_offset(bench: Bench) -> None:
    (bench.folder / "f").write_text("".join(f"{n}\n" for n in range(1, 4502)))
    for offset, first, last, footer in (
        (1, "1", "2000", "[lines 1-2000 of 4,501; continue with offset=2001]"),
        (2001, "2001", "4000", "[lines 2001-4000 of 4,501; continue with offset=4001]"),
        (4001, "4001", "4501", "4501"),
    ):
        rows = bench.call("read", path="f", offset=offset, limit=9999).text.split("\n")
        assert rows[0] == first
        assert rows[-1] == footer
        assert last in rows
    assert (
        bench.call("read", path="f", offset=3, limit=2).text
        == "3\n4\n[lines 3-4 of 4,501; continue with offset=5]"
    )


def test_fifty_thousand_bytes_and_never_half_a_line(bench: Bench) -> None:
    (bench.folder / "f").write_text(("é" * 499 + "\n") * 100)
    rows = bench.call("read", path="f").text.split("\n")
    assert rows[-1] == "[lines 1-50 of 100; continue with offset=51]"
    assert len(rows) == 51
    (bench.folder / "g").write_text("é" * 60_000)
    text = bench.call("read", path="g").text
    assert text.startswith("é" * 25_000 + "\n[line 1 is cut after 50,000 bytes")


def test_the_mark_is_not_shown_and_encodings_are_said(bench: Bench) -> None:
    (bench.folder / "b").write_bytes(b"\xef\xbb\xbfx\n")
    (bench.folder / "w").write_bytes(b"\xff\xfe" + "ü\r\n".encode("utf-16-le"))
    (bench.folder / "l").write_bytes("naïve\n".encode("latin-1"))
    assert bench.call("read", path="b").text == "x"
    assert bench.call("read", path="w").text == "ü\n[utf-16-le]\n[lines end with CRLF]"
    assert bench.call("read", path="l").text == "naïve\n[cp1252]"


def test_an_empty_file_and_an_offset_past_the_end(bench: Bench) -> None:
    (bench.folder / "f").write_text("")
    assert bench.call("read", path="f").text == "[the file is empty]"
    outcome = bench.call("read", path="f", offset=2)
    assert (outcome.code, "0 lines" in outcome.text) == ("invalid_arguments", True)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
    ],
)
def test_images_by_their_content(bench: Bench, head: bytes, kind: str) -> None:
    data = head + bytes(range(256))
    (bench.folder / "picture.txt").write_bytes(data)
    words, image = bench.call("read", path="picture.txt").content
    assert isinstance(words, Text)
    assert image == Image(kind, base64.b64encode(data).decode())
    (bench.folder / "picture.txt").write_bytes(head + bytes(51_000_000))
    assert bench.call("read", path="picture.txt").code == "too_large"


def test_what_is_not_text_is_refused_kindly(bench: Bench) -> None:
    (bench.folder / "b").write_bytes(b"\x7fELF\0\0\0")
    (bench.folder / "p.pdf").write_bytes(b"%PDF-1.7 ...")
    os.mkfifo(bench.folder / "fifo")
    (bench.folder / "d").mkdir()
    (bench.folder / "app.py").write_text("")
    found = {name: bench.call("read", path=name) for name in ("b", "p.pdf", "fifo", "d", "ap.py")}
    assert {name: outcome.code for name, outcome in found.items()} == {
        "b": "binary", "p.pdf": "binary", "fifo": "not_regular", "d": "is_directory", "ap.py": "not_found",
    }  # fmt: skip
    assert "bash" in found["b"].text
    assert "with bash" in found["p.pdf"].text
    assert "ls or find" in found["d"].text
    assert "~ is not expanded" in bench.call("read", path="~/.bashrc").text
    assert "did you mean app.py" in found["ap.py"].text


def test_a_huge_file_is_read_by_window_in_bounded_memory(bench: Bench) -> None:
    row = b"x" * 99 + b"\n"
    with (bench.folder / "big").open("wb") as file:
        for number in range(3000):
            file.write(b"%d\n" % number + row * 100)
    tracemalloc.start()
    outcome = bench.call("read", path="big", offset=101 * 2500 + 1, limit=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    first = 101 * 2500 + 1
    assert outcome.text.split("\n")[0] == "2500"
    assert outcome.text.endswith(f"[lines {first}-{first + 2}; continue with offset={first + 3}]")
    assert peak < 16 << 20
    assert "has only 303,000 lines" in bench.call("read", path="big", offset=400_000).text
    last = bench.call("read", path="big", offset=303_000).text
    assert last == "x" * 99


def test_a_line_of_a_hundred_megabytes(bench: Bench) -> None:
    with (bench.folder / "line").open("wb") as file:
        for _ in range(100):
            file.write(b"y" * (1 << 20))
    tracemalloc.start()
    text = bench.call("read", path="line").text
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.startswith("y" * 50_000 + "\n[line 1 is cut")
    assert peak < 16 << 20


def test_a_name_in_another_unicode_form_is_found_and_said(bench: Bench) -> None:
    (bench.folder / "cafe\u0301.txt").write_text("here\n")
    outcome = bench.call("read", path="caf\u00e9.txt")
    assert outcome.text.startswith("here\n[read ")


def test_outside_is_declared_not_opened(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("there\n")
    prepared = bench.prepare("read", path=str(tmp_path / "other.txt"))
    assert (prepared.effects[0].inside, prepared.effects[0].target) == (False, str(tmp_path / "other.txt"))
    assert bench.run(prepared).text == "there"
    assert bench.prepare("read", path="../no-such-file").effects[0].inside is False, "existence is not told"
    (bench.folder / "out").symlink_to("../other.txt")
    assert bench.call("read", path="out").code == "outside"


def test_secrets_are_marked(bench: Bench) -> None:
    (bench.folder / ".env").write_text("K=1\n")
    (bench.folder / "plain").symlink_to(".env")
    for path in (".env", "plain"):
        assert bench.prepare("read", path=path).effects[0].protected


def test_a_link_that_changed_since_it_was_approved_is_not_followed(bench: Bench) -> None:
    (bench.folder / "a").write_text("a\n")
    (bench.folder / ".env").write_text("K=1\n")
    prepared = bench.prepare("read", path="a")
    (bench.folder / "a").unlink()
    (bench.folder / "a").symlink_to(".env")
    assert bench.run(prepared).code == "stale_input"


def test_names_that_are_no_text_can_be_written_down(bench: Bench) -> None:
    odd = os.fsencode(bench.folder) + b"/caf\xe9.txt"
    with open(odd, "wb") as file:
        file.write(b"x\n")
    os.symlink(odd, bench.folder / "link")
    prepared = bench.prepare("read", path="link")
    assert prepared.effects[0].target.endswith("caf\\xe9.txt")
    assert len(prepared.digest()) == 64
    assert bench.run(prepared).text == "x"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ending", ["", "\n"])
def test_any_window_holds_the_lines_that_counting_from_the_top_gives(
    bench: Bench, seed: int, ending: str
) -> None:
    """Lines of any length around the sizes in which a file is looked through."""
    chance = random.Random(seed)
    lengths = [chance.choice((0, 1, 40, 65_535, 65_536, 65_537 - 41)) for _ in range(chance.randrange(1, 9))]
    lines = [f"{number:x}" + "x" * length for number, length in enumerate([*[3] * 400, *lengths, *[0] * 300])]
    chance.shuffle(lines)
    (bench.folder / "f").write_text("\n".join(lines) + ending)
    for first in (1, 2, chance.randrange(1, len(lines)), len(lines) - 1, len(lines)):
        limit = chance.randrange(1, 6)
        rows = bench.call("read", path="f", offset=first, limit=limit).text.split("\n")
        wanted = lines[first - 1 : first - 1 + limit]
        room = 50_000
        for number, line in enumerate(wanted):
            if len(line) + 1 > room + 1:
                assert number > 0 or line.startswith(rows[0])  # told to be cut, or left to the next window
                break
            room -= len(line) + 1
            assert rows[number] == line
