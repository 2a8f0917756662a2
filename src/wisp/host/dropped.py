"""Pictures that a person drops on the terminal or pastes: the files they are in.

A terminal writes the path of what is dropped on it, quoted in one of several ways.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from wisp.messages.ids import Clock
from wisp.session.whole import create_private_folder

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
LONGEST = 8_192
"""Characters of pasted text that may be the paths of pictures."""
KEPT = 7 * 86_400
"""Seconds for which a pasted picture is kept."""


def pictures(text: str, cwd: str) -> list[str]:
    """The picture files that `text` names, if it names nothing else."""
    text = text.strip()
    if not text or len(text) > LONGEST or "\0" in text:
        return []
    if _is_picture(text, cwd):
        return [_path(text, cwd)]
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    return [_path(word, cwd) for word in words] if all(_is_picture(word, cwd) for word in words) else []


def _path(word: str, cwd: str) -> str:
    if word.startswith("file://"):
        word = unquote(urlsplit(word).path)
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(word)))


def _is_picture(word: str, cwd: str) -> bool:
    return word.lower().endswith(PICTURES) and "\n" not in word and os.path.isfile(_path(word, cwd))


def keep_picture(folder: str, data: bytes, clock: Clock) -> str:
    """Keep a picture for the person alone, and let older ones go; its path.

    Raises:
        OSError: it cannot be kept.
    """
    create_private_folder(folder)
    for old in os.scandir(folder):
        with suppress(OSError):
            if old.stat(follow_symlinks=False).st_mtime < clock.now() - KEPT:
                os.unlink(old.path)
    descriptor, path = tempfile.mkstemp(suffix=".png", prefix="pasted-", dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return path
