"""What is made ready between the opening and the first answer."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, sys
from wisp.frontends.tui.entries import Answer
from wisp.frontends.tui.look import DARK
from wisp.frontends.tui.warming import warm

keys = iter([-1.0] * 100)
asyncio.run(warm(DARK, lambda: next(keys)))
before = set(sys.modules)
answer = Answer()
for part in ("# A\\n\\n*b* `c` [d](https://e.org) ~~f~~\\n\\n- g\\n1. h\\n\\n> i\\n\\n|j|k|\\n|-|-|\\n|l|m|\\n\\n```py",
             "thon\\nclass N: pass\\n```\\n"):
    answer.body.append(part)
    answer.lines(60, DARK)
print(sorted(set(sys.modules) - before))
"""


def test_the_first_answer_imports_nothing_any_more() -> None:
    """Counted, not timed: headings, emphasis, links, lists, quotes, tables, code."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_nothing_is_made_ready_while_a_person_types() -> None:
    """The step waits until no key has come for a while."""
    program = """
import asyncio, sys
from wisp.frontends.tui.look import DARK
from wisp.frontends.tui.warming import warm

async def main():
    loop = asyncio.get_running_loop()
    work = asyncio.ensure_future(warm(DARK, loop.time))
    await asyncio.wait([work], timeout=1)
    print("markdown_it" in sys.modules, work.done())
    work.cancel()

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False False"
