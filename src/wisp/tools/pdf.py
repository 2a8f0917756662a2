"""The text of a PDF by pages, where the extra `pdf` is installed.

The file is read by a process of its own (`pdfpages.py`), which may use so much memory and time and no more.
Pages are images to it: what was scanned has no text.
"""

from __future__ import annotations

import os
import sys

import msgspec

from wisp.messages.tool import ToolFailure, ToolOutcome, plain
from wisp.tools.render import MAX_BYTES, clip_bytes
from wisp.workspace.process import run
from wisp.workspace.stop import StopToken

MAX_FILE = 100 << 20
MAX_PAGES = 20
"""Most pages of one call."""
MEMORY = 1 << 30
"""Most bytes of memory for one call."""
SECONDS = 30
"""Most seconds of the processor for one call."""


class _Found(msgspec.Struct):
    """What the program prints."""

    total: int = 0
    pages: list[str] = []
    locked: bool = False
    damaged: str = ""


def show(fd: int, name: str, offset: int, limit: int, stop: StopToken) -> ToolOutcome:
    """Pages `offset` to `offset + limit - 1` of the open file.

    Raises:
        ToolFailure: the extra is missing, the file is locked, damaged or too large, or has fewer pages.
        Stopped: `stop` was set meanwhile.
    """
    size = os.fstat(fd).st_size
    try:
        import pypdf
    except ImportError:
        raise ToolFailure(
            "binary",
            f"{name} is a PDF ({size:,} bytes); its text is read with the extra 'pdf' "
            "(pip install 'wisp-agent[pdf]'), or convert it with bash, for instance pdftotext",
        ) from None
    if size > MAX_FILE:
        raise ToolFailure("too_large", f"{name} is a PDF of {size:,} bytes; convert it with bash")
    folder = os.path.dirname(os.path.dirname(pypdf.__file__))
    found = _found(_printed(fd, [folder, str(offset), str(min(limit, MAX_PAGES))], stop))
    if found.locked:
        raise ToolFailure("binary", f"{name} is a PDF locked by a password")
    if found.damaged:
        raise ToolFailure(
            "binary", f"{name} is a PDF that cannot be read ({found.damaged}); convert it with bash"
        )
    if offset > max(found.total, 1):
        raise ToolFailure(
            "invalid_arguments", f"{name} has only {found.total:,} pages; offset {offset} is past them"
        )
    return _shown(found, name, offset)


def _printed(fd: int, words: list[str], stop: StopToken) -> bytes:
    """What the program prints of the file; empty where it came to no end."""
    out = bytearray()

    def take(piece: bytes) -> bool:
        out.extend(piece)
        return len(out) < 8 * MAX_BYTES

    os.lseek(fd, 0, os.SEEK_SET)
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pdfpages.py")
    nowhere = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        ending = run(
            [sys.executable, "-I", "-S", program, *words, str(MAX_BYTES), str(MEMORY), str(SECONDS)],
            cwd=nowhere,
            env={"LC_ALL": "C.UTF-8"},
            timeout=float("inf"),  # it bounds its own work, and waits for nobody
            stop=stop,
            now=lambda: 0.0,
            output=take,
            errors=len,
            guarded=False,
            stdin=fd,
        )
    finally:
        os.close(nowhere)
    stop.check()
    return bytes(out) if ending.code == 0 else b""


def _found(said: bytes) -> _Found:
    try:
        return msgspec.json.decode(said, type=_Found)
    except msgspec.MsgspecError:
        return _Found(damaged="it takes too much time or memory")


def _shown(found: _Found, name: str, offset: int) -> ToolOutcome:
    parts: list[str] = []
    room = MAX_BYTES
    for number, words in enumerate(found.pages, offset):
        text = f"[page {number}]\n{words}"
        used = len(text.encode()) + 1
        if used > room and parts:
            break
        parts.append(clip_bytes(text, room) + ("\n[this page is cut]" if used > room else ""))
        room -= used
    last = offset + len(parts) - 1
    if last < found.total:
        parts.append(f"[pages {offset}-{last} of {found.total:,}; continue with offset={last + 1}]")
    return plain("\n".join(parts) or "[the PDF has no pages]", path=name, first=offset, last=last)
