"""Getting ready for the first answer while nobody waits: imports and first drawings, in small steps.

The first frame and the first message need none of it; without it the first words of the first answer would
be held up by all of it.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

from wisp.frontends.tui.look import Look

PAUSE = 0.02
"""Seconds between two steps: keys come first."""
QUIET = 0.25
"""Seconds without a key before the next step."""
SAMPLES = (
    "## Heading\n\nSome *words* with `code`, [a link](https://example.org) and **more**.\n",
    "- one\n- two\n\n1. first\n\n> quoted\n\n---\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "```python\ndef f(a):\n    return a + 1  # why\n```\n",
    "```diff\n-a\n+b\n```\n```bash\nls -l\n```\n```json\n{}\n```\n",
)


async def warm(look: Look, last_key: Callable[[], float]) -> None:
    """Do every step, each between keys.

    Args:
        look: the colours that answers will be drawn with.
        last_key: when a key was last pressed, by the event loop's clock.
    """
    loop = asyncio.get_running_loop()
    for step in (_reader, _blocks, _inline, _colours, _pages, *(_draws(text, look) for text in SAMPLES)):
        await asyncio.sleep(PAUSE)
        while (rest := last_key() + QUIET - loop.time()) > 0:
            await asyncio.sleep(rest)
        step()
    gc.freeze()  # what was loaded stays


def _reader() -> None:
    import markdown_it.common.utils  # noqa: F401


def _blocks() -> None:
    import markdown_it.parser_block  # noqa: F401


def _inline() -> None:
    import markdown_it.main  # noqa: F401


def _colours() -> None:
    import rich.syntax  # noqa: F401


def _pages() -> None:
    import wisp.frontends.tui.markdown  # noqa: F401


def _draws(text: str, look: Look) -> Callable[[], None]:
    def step() -> None:
        from wisp.frontends.tui.markdown import Streamed

        Streamed(text, whole=True).lines(80, look)

    return step
