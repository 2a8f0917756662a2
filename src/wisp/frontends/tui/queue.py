"""What waits to be said, above the composer."""

from __future__ import annotations

from collections.abc import Sequence

from wisp.frontends.tui.lines import Text, clipped
from wisp.frontends.tui.look import Look
from wisp.host.events import QueuedMessage
from wisp.host.showing import one_line, safe

SHOWN = 3


def queue_text(look: Look, queue: Sequence[tuple[str, QueuedMessage]], width: int) -> Text:
    """The first messages, each with when it is said, and how to take one back."""
    text = Text(no_wrap=True)
    for at, (when, message) in enumerate(queue[:SHOWN]):
        text.append(safe("\n" if at else ""))
        text.append(safe(f"{when:5} "), look.style("accent"))
        text.append(clipped(one_line(message.text, 400), max(1, width - 6)), look.style("dim"))
    more = len(queue) - SHOWN
    hint = "alt+up takes the last one back"
    text.append(safe("\n      "))
    words = safe(f"{more} more · {hint}" if more > 0 else hint)
    text.append(clipped(words, max(1, width - 6)), look.style("dim"))
    return text
