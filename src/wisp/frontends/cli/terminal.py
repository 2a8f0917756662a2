"""What kind of stream we write to, and a yes or no from the person at it."""

from __future__ import annotations

import sys
from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Whether `stream` is a terminal; a closed or missing one is not."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def confirmed() -> bool:
    """Whether the person at the terminal agrees; without one, nobody does."""
    from wisp.frontends.cli.streams import complain, say
    from wisp.host.showing import safe

    if not is_terminal(sys.stdin):
        complain(safe("nothing was changed; add --yes to do it"))
        return False
    say(safe("Do it? [y/N] "), end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
