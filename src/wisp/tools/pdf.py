"""The text of a PDF by pages, where the extra `pdf` is installed.

The library reads hostile files too: its own limits bound what is unpacked, ours how many pages and how much
of each are looked at.  Pages are images to it: what was scanned has no text.
"""

from __future__ import annotations

import os
from typing import Any

from wisp.messages.tool import ToolFailure, ToolOutcome, plain
from wisp.tools.render import MAX_BYTES, clip_bytes
from wisp.workspace.stop import Stopped, StopToken

MAX_FILE = 100 << 20
MAX_PAGES = 20
"""Most pages of one call."""
MAX_CONTENT = 4 << 20
"""Most bytes of drawing commands of one page that are read."""


def show(fd: int, name: str, offset: int, limit: int, stop: StopToken) -> ToolOutcome:
    """Pages `offset` to `offset + limit - 1` of the open file.

    Raises:
        ToolFailure: the extra is missing, the file is locked, damaged or too large, or has fewer pages.
    """
    size = os.fstat(fd).st_size
    try:
        import logging

        import pypdf
    except ImportError:
        raise ToolFailure(
            "binary",
            f"{name} is a PDF ({size:,} bytes); its text is read with the extra 'pdf' "
            "(pip install 'wisp-agent[pdf]'), or convert it with bash, for instance pdftotext",
        ) from None
    if size > MAX_FILE:
        raise ToolFailure("too_large", f"{name} is a PDF of {size:,} bytes; convert it with bash")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it thinks of a file is not for the screen
    with os.fdopen(os.dup(fd), "rb") as file:
        try:
            return _pages(pypdf.PdfReader(file), name, offset, limit, stop)
        except (ToolFailure, Stopped):
            raise
        except Exception as exc:  # a hostile or damaged file makes the library raise anything
            raise ToolFailure(
                "binary",
                f"{name} is a PDF that cannot be read ({type(exc).__name__}); convert it with bash",
            ) from None


def _pages(reader: Any, name: str, offset: int, limit: int, stop: StopToken) -> ToolOutcome:
    if reader.is_encrypted and not reader.decrypt(""):
        raise ToolFailure("binary", f"{name} is a PDF locked by a password")
    total = len(reader.pages)
    if offset > max(total, 1):
        raise ToolFailure(
            "invalid_arguments", f"{name} has only {total:,} pages; offset {offset} is past them"
        )
    parts: list[str] = []
    room, last = MAX_BYTES, offset - 1
    for number in range(offset, min(total, offset + min(limit, MAX_PAGES) - 1) + 1):
        stop.check()
        text = f"[page {number}]\n{_text(reader.pages[number - 1], stop)}"
        used = len(text.encode("utf-8", "replace")) + 1
        if used > room and parts:
            break
        parts.append(clip_bytes(text, room) + ("\n[this page is cut]" if used > room else ""))
        room -= used
        last = number
    if last < total:
        parts.append(f"[pages {offset}-{last} of {total:,}; continue with offset={last + 1}]")
    return plain("\n".join(parts) or "[the PDF has no pages]", path=name, first=offset, last=last)


def _text(page: Any, stop: StopToken) -> str:
    contents = page.get_contents()
    if contents is None:
        return "[empty]"
    if len(contents.get_data()) > MAX_CONTENT:
        return "[the drawing of this page is too large to be read]"
    text = page.extract_text(visitor_operand_before=lambda *_: stop.check()).strip()
    text = text.encode("utf-8", "replace").decode()
    return text or "[no text; it may be scanned]"
