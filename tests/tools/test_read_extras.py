"""Pictures, notebooks and PDFs are shown in bounds, with their extras and without."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
import zlib
from io import BytesIO
from pathlib import Path

import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from tools.conftest import Bench

from wisp.messages.content import Image, Text
from wisp.tools import pdfpages
from wisp.tools.notebook import as_lines, cells_of
from wisp.tools.render import MAX_BYTES
from wisp.workspace.stop import StopToken


def _picture(bench: Bench, name: str) -> tuple[str, str, bytes]:
    outcome = bench.call("read", path=name)
    assert not outcome.is_error, outcome.text
    words, image = outcome.content
    assert isinstance(words, Text) and isinstance(image, Image)
    return words.text, image.media_type, base64.b64decode(image.data)


def test_a_picture_of_a_sensible_size_is_sent_byte_for_byte(bench: Bench) -> None:
    """1,568 pixels are the longest side."""
    Pillow.new("RGB", (1568, 20), "red").save(bench.folder / "a.png")

    words, kind, data = _picture(bench, "a.png")

    assert (kind, data) == ("image/png", (bench.folder / "a.png").read_bytes())
    assert "shown as" not in words


@pytest.mark.parametrize(
    ("form", "kind"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/jpeg"), ("GIF", "image/png")],
)
def test_a_larger_one_is_made_smaller_in_proportion_and_that_is_said(
    bench: Bench, form: str, kind: str
) -> None:
    """By its content, whatever its name is."""
    Pillow.new("RGB", (4000, 1000), "blue").save(bench.folder / "x.dat", form)

    words, sent, data = _picture(bench, "x.dat")
    copy = Pillow.open(BytesIO(data))

    assert (sent, copy.size) == (kind, (1568, 392))
    assert "4000x1000, shown as 1568x392" in words
    pixel = copy.convert("RGB").getpixel((5, 5))
    assert isinstance(pixel, tuple) and pixel[2] > 240 and pixel[0] < 20


def test_transparency_and_the_turn_of_a_camera_are_kept(bench: Bench) -> None:
    """The pixels are what a person would see."""
    Pillow.new("RGBA", (2000, 2000), (0, 0, 0, 0)).save(bench.folder / "clear.png")
    _, _, data = _picture(bench, "clear.png")
    assert Pillow.open(BytesIO(data)).convert("RGBA").getpixel((1, 1)) == (0, 0, 0, 0)
    exif = Pillow.Exif()
    exif[0x0112] = 6
    Pillow.new("RGB", (3000, 1000)).save(bench.folder / "turned.jpg", exif=exif)
    _, _, data = _picture(bench, "turned.jpg")
    assert Pillow.open(BytesIO(data)).size == (523, 1568)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def test_a_picture_that_claims_billions_of_pixels_is_refused_undecoded(bench: Bench) -> None:
    """A decompression bomb of a few hundred bytes."""
    head = (50_000).to_bytes(4, "big") * 2 + b"\x08\x06\0\0\0"
    data = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(bytes(5000)))
    (bench.folder / "bomb.png").write_bytes(data + _chunk(b"IEND", b""))

    assert bench.call("read", path="bomb.png").code in ("too_large", "binary")


def test_a_damaged_large_picture_is_a_refusal(bench: Bench) -> None:
    """Cut in the middle."""
    out = BytesIO()
    Pillow.effect_noise((2500, 2500), 50).save(out, "PNG")
    (bench.folder / "cut.png").write_bytes(out.getvalue()[:200_000])

    assert bench.call("read", path="cut.png").code == "binary"


NOTEBOOK = {
    "nbformat": 4,
    "metadata": {},
    "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {
            "cell_type": "code",
            "execution_count": 3,
            "source": "print('x')",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": [f"line {n}\n" for n in range(1000)]},
                {
                    "output_type": "display_data",
                    "data": {"image/png": "AAAA" * 50_000, "text/plain": "<Figure>"},
                },
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mboom\x1b[0m"]},
            ],
        },
    ],
}


def test_a_notebook_is_its_cells_with_outputs_cut_and_lines_windowed(bench: Bench) -> None:
    """No JSON, no base64, no escapes."""
    (bench.folder / "n.ipynb").write_text(json.dumps(NOTEBOOK))

    rows = bench.call("read", path="n.ipynb").text.split("\n")

    assert rows[:5] == [
        "# --- cell 1 (markdown)",
        "# Title",
        "words",
        "# --- cell 2 (code, run 3)",
        "print('x')",
    ]
    assert rows[5:7] == ["# output:", "line 0"]
    assert "line 19" in rows and "line 20" not in rows and "# ... cut, 1,000 lines in all" in rows
    assert rows[-5:] == [
        "# output also as image/png:",
        "<Figure>",
        "# error:",
        "boom",
        "[a notebook of 2 cells, shown without its JSON; edits must match the JSON]",
    ]
    window = bench.call("read", path="n.ipynb", offset=2, limit=1).text.split("\n")
    assert window[0] == "# Title" and "continue with offset=3" in window[-1]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"cells": 3}', '{"cells": [1]}', "not json", "[" * 100_000, '{"a": 1}']
)
def test_what_only_has_the_name_of_a_notebook_is_shown_as_text(bench: Bench, text: str) -> None:
    """Damaged, other JSON, nested too deep."""
    (bench.folder / "n.ipynb").write_text(text)

    outcome = bench.call("read", path="n.ipynb")

    assert not outcome.is_error and "notebook of" not in outcome.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "cells",
                    "source",
                    "outputs",
                    "text",
                    "data",
                    "text/plain",
                    "output_type",
                    "traceback",
                    "cell_type",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["source", "outputs", "cell_type", "input"]), JSON, max_size=4),
        max_size=3,
    )
)
def test_cells_of_any_shape_are_shown_without_a_fault(cells: list[object]) -> None:
    """Whatever the JSON holds where strings and lists are expected."""
    found = cells_of(json.dumps({"cells": cells}))

    assert found is not None
    assert all(isinstance(line, str) for line in as_lines(found))


def _pdf(*pages: str) -> bytes:
    """A minimal PDF with one line of text on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, words in enumerate(pages):
        draw = f"BT /F1 12 Tf 72 720 Td ({words}) Tj ET" if words else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(draw)} >>\nstream\n{draw}\nendstream")
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    start = out.index("xref\n0")
    return (
        out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    ).encode()


def test_a_pdf_is_read_by_pages_and_the_footer_names_the_next(bench: Bench) -> None:
    """Offset and limit mean pages; at most 20 at once."""
    (bench.folder / "d.pdf").write_bytes(_pdf(*(f"words of page {n}" for n in range(1, 26)), ""))

    assert bench.call("read", path="d.pdf", offset=3, limit=2).text == (
        "[page 3]\nwords of page 3\n[page 4]\nwords of page 4\n[pages 3-4 of 26; continue with offset=5]"
    )
    assert bench.call("read", path="d.pdf").text.endswith("[pages 1-20 of 26; continue with offset=21]")
    assert "[no text" in bench.call("read", path="d.pdf", offset=26).text
    assert bench.call("read", path="d.pdf", offset=27).code == "invalid_arguments"


def test_a_page_that_unpacks_to_megabytes_is_said_and_not_read(bench: Bench) -> None:
    """A content stream of 40 MB, packed into 40 kB."""
    packed = zlib.compress(b"(a) Tj " * 6_000_000, 9)
    whole = _pdf("MARK")
    draw = b"BT /F1 12 Tf 72 720 Td (MARK) Tj ET"
    old = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(draw), draw)
    assert old in whole
    new = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed)
    (bench.folder / "bomb.pdf").write_bytes(whole.replace(old, new))

    text = bench.call("read", path="bomb.pdf").text

    assert "too large" in text or "cannot be read" in text
    assert len(text) < MAX_BYTES


def _slow(pages: int) -> bytes:
    """Pages of many drawing commands, each below the limit for one."""
    return _pdf(*["x) Tj " + "q Q " * 900_000 + "(y"] * pages)


def test_reading_a_pdf_that_takes_long_settles_at_once_when_it_is_stopped(bench: Bench) -> None:
    (bench.folder / "slow.pdf").write_bytes(_slow(20))
    prepared, stop = bench.prepare("read", path="slow.pdf"), StopToken()
    readers = []

    def ours() -> bytes:  # other tests may read at this moment
        argv = ["pgrep", "-f", "-P", str(os.getpid()), "pdfpages.py"]
        return subprocess.run(argv, capture_output=True, check=False).stdout

    def halt() -> None:
        while not readers or not readers[-1]:
            readers.append(ours())
        stop.stop()

    timer = threading.Thread(target=halt, daemon=True)
    timer.start()
    assert bench.run(prepared, stop).code == "cancelled"
    assert readers[-1] and not ours()


@pytest.mark.parametrize(("memory", "seconds"), [(60 << 20, 60), (1 << 30, 1)])
def test_the_reader_of_pdfs_ends_at_its_limits_and_says_nothing(memory: int, seconds: int) -> None:
    program = Path(pdfpages.__file__)
    folder = Path(pypdf.__file__).parents[1]
    words = [str(folder), "1", "20", "50000", str(memory), str(seconds)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(program), *words], input=_slow(20), capture_output=True, check=False
    )
    assert (done.returncode != 0) or b"damaged" in done.stdout
    assert b"pages" not in done.stdout


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.4",
        b"%PDF-1.7\n" + bytes(5000),
        _pdf("x")[:300],
        _pdf("x").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
    ],
)
def test_a_damaged_pdf_is_a_refusal_or_empty_never_a_fault(bench: Bench, data: bytes) -> None:
    """Cut, empty, a tree that contains itself."""
    (bench.folder / "d.pdf").write_bytes(data)

    outcome = bench.call("read", path="d.pdf")

    assert outcome.code in ("binary", "", None) or not outcome.is_error


def test_without_the_extras_a_pdf_is_refused_by_the_name_of_the_extra_and_a_picture_is_sent(
    tmp_path: Path,
) -> None:
    """In a program that cannot import them."""
    (tmp_path / "d.pdf").write_bytes(_pdf("x"))
    Pillow.new("RGB", (3000, 3)).save(tmp_path / "p.png")
    code = f"""
import sys
sys.modules["PIL"] = sys.modules["pypdf"] = None
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pathlib import Path
from tools.conftest import Bench
bench = Bench(Path({str(tmp_path)!r}), Path({str(tmp_path / "spool")!r}))
print(bench.call("read", path="d.pdf").text)
print(bench.call("read", path="p.png").content[0].text)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "wisp-agent[pdf]" in done.stdout
    assert "p.png (image/png" in done.stdout and "shown as" not in done.stdout


def test_neither_library_is_loaded_by_reading_text(tmp_path: Path) -> None:
    """They stand in the functions that need them."""
    (tmp_path / "a.txt").write_text("x\n")
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pathlib import Path
from tools.conftest import Bench
Bench(Path({str(tmp_path)!r}), Path({str(tmp_path / "spool")!r})).call("read", path="a.txt")
print(sorted({{"PIL", "pypdf", "wisp.tools.images", "wisp.tools.pdf", "wisp.tools.notebook"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
