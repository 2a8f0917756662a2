"""What a terminal writes for a dropped file."""

from __future__ import annotations

from pathlib import Path

import pytest

from wisp.host.dropped import keep_picture, pictures
from wisp.messages.ids import SystemClock


@pytest.mark.parametrize("form", ["{}", "'{}'", '"{}"', "file://{uri}", "{escaped}", " {escaped}\n"])
def test_every_way_of_writing_the_path_of_a_picture_is_understood(tmp_path: Path, form: str) -> None:
    """Plain, in quotes, with escapes, as an address."""
    path = tmp_path / "a shot (1).PNG"
    path.write_bytes(b"x")
    escaped = str(path).replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)")
    written = form.format(path, uri=path.as_uri().removeprefix("file://"), escaped=escaped)

    assert pictures(written, "/") == [str(path)]


def test_several_pictures_are_several_and_other_text_is_none(tmp_path: Path) -> None:
    """A sentence about a picture is a sentence."""
    for name in ("a.png", "b.jpg", "c.txt"):
        (tmp_path / name).write_bytes(b"x")

    assert pictures("a.png b.jpg", str(tmp_path)) == [str(tmp_path / "a.png"), str(tmp_path / "b.jpg")]
    for text in ("look at a.png", "a.png c.txt", "c.txt", "missing.png", "", "a.png\0", "it's a.png"):
        assert pictures(text, str(tmp_path)) == []


def test_a_kept_picture_is_for_the_person_alone_and_old_ones_go(tmp_path: Path) -> None:
    """After a week."""
    import os

    folder = str(tmp_path / "pasted")
    first = keep_picture(folder, b"one", SystemClock())
    os.utime(first, (0, 0))
    second = keep_picture(folder, b"two", SystemClock())

    assert Path(second).read_bytes() == b"two"
    assert os.stat(second).st_mode & 0o777 == 0o600
    assert not os.path.exists(first)
