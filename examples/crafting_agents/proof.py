"""Chapter 10: how to know whether it works: tasks with a judge, and figures with what is not known of them.

Owns the tasks, the simulated model that sometimes fails, the judge, and the statistics.  How often a task is
solved depends on a model and is an estimate; the model here is a coin, so its figures say nothing about any
real one.  Whether the runtime keeps its promises is another question, which faults.py asks.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .core import Message, ToolCall, ToolSpec
from .faults import quiet, reset, run
from .steering import Conversation, stoppable_tools
from .window import count_row, count_tools
from .workbench import SOURCE_NAME, TEST_NAME, run_tests


# region: tasks
@dataclass(frozen=True)
class Task:
    """A project with one bug, and the test that decides."""

    name: str
    source: str
    wrong: str
    right: str
    test: str
    """An expression that must be true."""

    def files(self) -> dict[str, str]:
        """The project, under the names that chapter 2's tools know."""
        test = f"    def test_it(self):\n        self.assertTrue({self.test})\n"
        head = f"import unittest\n\nfrom calculator import {self.name}\n\n\nclass Test(unittest.TestCase):\n"
        return {SOURCE_NAME: self.source.replace("BUG", self.wrong), TEST_NAME: head + test}


PRICE_IN, PRICE_OUT = 1.0, 4.0
"""Example prices, in dollars for a million tokens."""

TASKS = (
    Task("add", "def add(a, b):\n    return BUG\n", "a - b", "a + b", "add(2, 3) == 5"),
    Task("largest", "def largest(xs):\n    return BUG\n", "xs[0]", "max(xs)", "largest([1, 3, 2]) == 3"),
    Task("mean", "def mean(xs):\n    return BUG\n", "sum(xs)", "sum(xs) / len(xs)", "mean([2, 4]) == 3"),
    Task("even", "def even(n):\n    return BUG\n", "n % 2", "n % 2 == 0", "even(4) and not even(3)"),
    Task("last", "def last(xs):\n    return BUG\n", "xs[len(xs)]", "xs[-1]", "last([1, 2]) == 2"),
)


class CoinProvider:
    """A simulated model: it knows the answer, and gets it wrong as often as its coin says.

    It always ends by claiming success, which is why nobody scores by what it says.
    """

    def __init__(self, task: Task, coin: random.Random, skill: float, recovery: float) -> None:
        """Args: skill is the chance that a first edit is right, recovery that a second one mends it."""
        self._task = task
        self._coin = coin
        self._skill = skill
        self._recovery = recovery
        self._asked = 0
        self._tried: list[str] = []
        self.tokens_in = 0
        self.tokens_out = 0

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """The next step, by rule and by coin."""
        self._asked += 1
        answer = self._decide(history[-1])
        self.tokens_in += sum(map(count_row, history)) + count_tools(tools)
        self.tokens_out += count_row(answer)
        return answer

    def _decide(self, latest: Message) -> Message:
        if latest.content.startswith("exit=1") and len(self._tried) < 2:
            chance = self._recovery if self._tried else self._skill
            new = self._task.right if self._coin.random() < chance else f"{self._task.wrong} "
            old = self._tried[-1] if self._tried else self._task.wrong
            self._tried.append(new)
            return self._ask(
                "Change the expression.", "edit", path=SOURCE_NAME, old=f" {old}\n", new=f" {new}\n"
            )
        if latest.role == "tool" and latest.content.startswith("exit="):
            return Message("assistant", "Done: the function is fixed.")
        return self._ask("Run the tests.", "test")

    def _ask(self, text: str, tool: str, **arguments: str) -> Message:
        return Message("assistant", text, (ToolCall(f"c{self._asked}", tool, arguments),))


def passes(root: Path) -> bool:
    """The judge: the project's own test, run once more by us.  What the model said is not asked."""
    return run_tests(root).startswith("exit=0")


@dataclass(frozen=True)
class Attempt:
    """One scored run."""

    passed: bool
    claimed: bool
    seconds: float
    dollars: float


def attempt(root: Path, task: Task, number: int) -> Attempt:
    """Let the simulated model try a task in a fresh project, then judge the project."""
    reset(root, task.files())
    provider = CoinProvider(task, random.Random(f"{task.name}-{number}"), skill=0.6, recovery=0.5)
    conversation = Conversation([Message("user", f"Fix {task.name}.")])
    started = time.perf_counter()
    run(conversation, provider, stoppable_tools(root, quiet))
    seconds = time.perf_counter() - started
    dollars = (provider.tokens_in * PRICE_IN + provider.tokens_out * PRICE_OUT) / 1_000_000
    return Attempt(passes(root), "fixed" in conversation.rows[-1].content, seconds, dollars)


# endregion: tasks


# region: statistics
def pass_all(attempts: int, passed: int, k: int) -> float:
    """pass^k: the chance that k attempts, drawn without putting back, all pass.

    The plain power (passed / attempts) ** k would be too high: it lets one attempt count more than once.
    """
    return math.comb(passed, k) / math.comb(attempts, k)


def wilson(passed: int, attempts: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a rate, by Wilson's score.  Unlike p +- 2 s it stays within 0 and 1."""
    rate = passed / attempts
    centre = rate + z * z / (2 * attempts)
    spread = z * math.sqrt(rate * (1 - rate) / attempts + z * z / (4 * attempts * attempts))
    scale = 1 + z * z / attempts
    return (centre - spread) / scale, (centre + spread) / scale


def bootstrap(values: Sequence[float], seed: int, rounds: int = 2_000) -> tuple[float, float]:
    """The 95 % interval of a mean over tasks, by drawing the tasks anew.

    Attempts at one task resemble each other, so the tasks are the sample and not the attempts.
    """
    coin = random.Random(seed)
    means = sorted(sum(coin.choices(values, k=len(values))) / len(values) for _ in range(rounds))
    return means[math.ceil(0.025 * rounds) - 1], means[math.ceil(0.975 * rounds) - 1]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed (nearest rank)."""
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


# endregion: statistics
