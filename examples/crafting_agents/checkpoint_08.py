"""Checkpoint 8: a long conversation in a small window, with what it cost to make it fit."""

from __future__ import annotations

import argparse
import asyncio
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .checkpoint_02 import PROMPT, check_ending
from .core import Message, ScriptMismatch, ToolSpec
from .disposable import in_disposable_project
from .journal import DurableConversation, Journal
from .person import Control
from .scripted import RuleProvider
from .steering import check_lawful, converse, stoppable_tools
from .window import SUMMARISE, CannotFit, FittingProvider, WindowExceeded, by_source
from .workbench import PROJECT, SOURCE_NAME, TOOLS, print_ending

JOURNAL = "journal.jsonl"
FACT = "Remember that this release is called Dragonfly."
QUESTION = "What is this release called?"
AGAIN = "Run the tests once more."
BYTES_PER_TOKEN = 3
"""How the pretended provider counts.  The host does not know, and at first guesses four."""


class SmallModel:
    """A rule provider behind a window: it counts every request, and refuses those that are too large."""

    def __init__(self, window: int) -> None:
        self._rules = RuleProvider()
        self._window = window
        self.used = 0
        self.refused = 0

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """Answer, unless the request is larger than the window."""
        text = "".join(f"{row.role}{row.content}{row.tool_calls}" for row in history)
        self.used = math.ceil(len(f"{text}{tools}".encode()) / BYTES_PER_TOKEN)
        if self.used > self._window:
            self.refused += 1
            raise WindowExceeded(f"{self.used} tokens, window {self._window}")
        latest = history[-1].content
        if latest == SUMMARISE:
            said = [row.content for row in history if row.role == "user" and row.content != AGAIN]
            return Message("assistant", "\n".join(dict.fromkeys("\n".join(said[:-1]).splitlines())))
        if latest == QUESTION:
            found = re.search(r"release is called (\w+)", text)
            return Message("assistant", f"It is called {found[1]}." if found else "I do not know.")
        return await self._rules.complete(history, tools)


async def talk(
    root: Path, window: int, reserve: int, texts: Sequence[str], report: Callable[[str], None] = print
) -> tuple[str, SmallModel]:
    """Say one thing after another in the conversation that the journal holds; the last is the question."""
    journal = Journal(root / JOURNAL)
    conversation = DurableConversation(journal)
    model = SmallModel(window)
    provider = FittingProvider(model, conversation, window, reserve=reserve, report=report)
    tools = stoppable_tools(root, lambda line: None)
    ending = ""

    def short(line: str) -> None:
        report(line.partition("\n")[0])

    try:
        for text in (*texts, QUESTION):
            conversation.add(Message("user", text))
            ending = await converse(conversation, provider, TOOLS, tools, Control(), report=short)
            check_lawful(conversation.rows)
    finally:
        journal.close()
    if provider.largest > window or "Dragonfly" not in conversation.rows[-1].content:
        raise ScriptMismatch(f"largest request {provider.largest}; answer {conversation.rows[-1].content!r}")
    report(f"rows in the request: {len(conversation.rows)}; records: {journal.leaf}")
    report(f"tokens by source: {by_source(conversation.rows, TOOLS)}")
    report(f"refused by the provider: {model.refused}; estimate corrected by {provider.meter.factor:.2f}")
    return ending, model


# region: scenarios
def fit(root: Path) -> str:
    """With a reserve that covers the error of the estimate, no request is ever refused."""
    return asyncio.run(talk(root, 1_500, 600, (PROMPT, FACT, *[AGAIN] * 12)))[0]


def overflow(root: Path) -> str:
    """Resume a conversation on a model with less room: the first guess is too low, and is recovered from."""
    asyncio.run(talk(root, 4_000, 1_000, (PROMPT, FACT, *[AGAIN] * 4), quiet))
    ending, model = asyncio.run(talk(root, 900, 100, (AGAIN,)))
    if model.refused != 1:
        raise ScriptMismatch(f"refused {model.refused} times")
    return ending


def too_big(root: Path) -> str:
    """A prompt that is larger than the window: nothing can be given up, so the run says so and stops."""
    try:
        return asyncio.run(talk(root, 800, 0, (f"{PROMPT} {'Please. ' * 600}",)))[0]
    except CannotFit as failure:
        return f"context_overflow ({failure})"


def every_window(root: Path) -> str:
    """The same conversation in windows of many sizes.  It ends well or says that it cannot; no third way."""
    outcomes = []
    for window in range(200, 2_000, 60):
        (root / SOURCE_NAME).write_text(PROJECT[SOURCE_NAME], encoding="utf-8")
        (root / JOURNAL).unlink(missing_ok=True)
        try:
            outcomes.append(asyncio.run(talk(root, window, window // 3, (PROMPT, FACT, AGAIN), quiet))[0])
        except CannotFit:
            outcomes.append("context_overflow")
        print(f"window {window}: {outcomes[-1]}")
    if outcomes != sorted(outcomes):
        raise ScriptMismatch("a larger window did worse than a smaller one")
    return outcomes[-1]


def quiet(line: str) -> None:
    """Say nothing."""


# endregion: scenarios
SCENARIOS = {"fit": fit, "overflow": overflow, "too-big": too_big, "every-window": every_window}


def work(root: Path, scenario: str) -> int:
    """Run a scenario and show what became of the file."""
    ending = SCENARIOS[scenario](root)
    check_ending(root, fixed=scenario != "too-big")
    print_ending(root, ending)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the flag and run in a folder of our own."""
    parser = argparse.ArgumentParser(prog="checkpoint_08", description=__doc__)
    parser.add_argument("--scenario", choices=tuple(SCENARIOS), default="fit", help="how small the window is")
    options = parser.parse_args(argv)
    return in_disposable_project(PROJECT, lambda root: work(root, options.scenario))


if __name__ == "__main__":
    sys.exit(main())
