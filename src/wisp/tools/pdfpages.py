"""The program that reads a PDF: apart from the agent, because the library reads hostile files too.

Started by `pdf.py` only, in a process of its own with limits on memory and time; imports nothing of wisp.
The file is its standard input; it prints one JSON object.

    FOLDER OFFSET LIMIT ROOM MEMORY SECONDS

FOLDER: where the library is.  OFFSET, LIMIT: the first page, from 1, and how many.  ROOM: most bytes of text.
MEMORY: most bytes of memory.  SECONDS: most of the processor's time.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any

MAX_CONTENT = 4 << 20
"""Most bytes of drawing commands of one page that are read."""


def main(words: list[str]) -> dict[str, Any]:
    """What is found: `total` pages, `pages` as `[text, whole]`, or `locked`, or `damaged` and why."""
    offset, limit, room, memory, seconds = map(int, words[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    sys.path.append(words[0])
    import logging

    import pypdf

    logging.disable()  # what the library thinks of a file is nobody's business
    try:
        return _read(pypdf.PdfReader(sys.stdin.buffer), offset, limit, room)
    except Exception as exc:  # a hostile or damaged file makes the library raise anything
        return {"damaged": type(exc).__name__}


def _read(reader: Any, offset: int, limit: int, room: int) -> dict[str, Any]:
    if reader.is_encrypted and not reader.decrypt(""):
        return {"locked": True}
    total = len(reader.pages)
    pages: list[str] = []
    for number in range(offset, min(total, offset + limit - 1) + 1):
        text = _text(reader.pages[number - 1]).encode("utf-8", "replace")
        if pages and len(text) > room:
            break
        pages.append(text[: room + 1].decode("utf-8", "ignore"))
        room -= min(room, len(text))
    return {"total": total, "pages": pages}


def _text(page: Any) -> str:
    contents = page.get_contents()
    if contents is None:
        return "[empty]"
    if len(contents.get_data()) > MAX_CONTENT:
        return "[the drawing of this page is too large to be read]"
    return page.extract_text().strip() or "[no text; it may be scanned]"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1:])))
