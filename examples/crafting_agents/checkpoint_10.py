"""Checkpoint 10: break every moment of the repair, score a set of tasks, and measure what it took."""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .checkpoint_02 import PROMPT, check_ending
from .core import Message, ScriptMismatch
from .disposable import in_disposable_project
from .faults import FAULTS, JOURNAL, broken_run, quiet, reset, run
from .journal import DurableConversation, Journal
from .proof import TASKS, attempt, bootstrap, pass_all, percentile, wilson
from .scripted import RuleProvider
from .steering import Conversation, check_lawful, stoppable_tools
from .workbench import PROJECT, print_ending

ATTEMPTS = 8


# region: fault injection
def faults(root: Path) -> str:
    """Inject each fault at its first, second, third, ... opportunity, until the run gets past it."""
    for fault in FAULTS:
        for at in range(1, 100):
            reset(root)
            acknowledged = broken_run(root, fault, at)
            if acknowledged is None:
                break
            journal = Journal(root / JOURNAL)
            if len(journal.records) < acknowledged:
                raise ScriptMismatch(f"{fault} {at}: a record was lost")
            conversation = DurableConversation(journal)
            check_lawful(conversation.rows)
            conversation.add(Message("user", "Go on."))
            ending = run(conversation, RuleProvider(f"b{at}-"), stoppable_tools(root, quiet))
            journal.close()
            again = Journal(root / JOURNAL)
            if again.damage or DurableConversation(again).rows != conversation.rows:
                raise ScriptMismatch(f"{fault} {at}: what was said after the crash is not on the disk")
            again.close()
            check_ending(root, fixed=True)
        print(f"{fault:18} injected at {at - 1:2} moments: lawful {at - 1:2}, repaired {at - 1:2}, lost 0")
    return ending


# endregion: fault injection


# region: task set
def tasks(root: Path) -> str:
    """Score every task several times, and print each figure with what is not known about it."""
    results = {task.name: [attempt(root, task, number) for number in range(ATTEMPTS)] for task in TASKS}
    for name, attempts in results.items():
        low, high = wilson(sum(one.passed for one in attempts), ATTEMPTS)
        marks = "".join("+" if one.passed else "-" for one in attempts)
        print(f"{name:8} {marks}  95 % of the rate: {low:.2f} to {high:.2f}")
    for k in (1, 2, 4):
        values = [pass_all(ATTEMPTS, sum(one.passed for one in attempts), k) for attempts in results.values()]
        low, high = bootstrap(values, seed=k)
        print(f"pass^{k}: {sum(values) / len(values):.2f} (95 %: {low:.2f} to {high:.2f})")
    every = [one for attempts in results.values() for one in attempts]
    claimed = sum(one.claimed for one in every)
    print(f"claimed: {claimed} of {len(every)}; passed: {sum(one.passed for one in every)} of {len(every)}")
    cost = [one.dollars for one in every]
    print(f"cost at example prices: ${sum(cost):.4f}; p50 ${percentile(cost, 0.5):.6f}")
    spent = [one.seconds for one in every]
    print(f"latency: p50 {percentile(spent, 0.5):.3f} s, p95 {percentile(spent, 0.95):.3f} s")
    return "tasks_scored"


# endregion: task set


# region: profile
def profile(root: Path) -> str:
    """Where the time of one repair goes: in waiting for the tests, not in the loop."""
    profiler = cProfile.Profile()
    conversation = Conversation([Message("user", PROMPT)])
    ending = profiler.runcall(run, conversation, RuleProvider(), stoppable_tools(root, quiet))
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    total = sum(entry[2] for entry in stats.values())
    ours = sum(entry[2] for place, entry in stats.items() if "crafting_agents" in place[0])
    print(f"time in our own functions: {100 * ours / total:.0f} % of {1000 * total:.0f} ms")
    check_ending(root, fixed=True)
    return ending


# endregion: profile
SCENARIOS: dict[str, Callable[[Path], str]] = {"faults": faults, "tasks": tasks, "profile": profile}


def work(root: Path, scenario: str) -> int:
    """Run a scenario and show what became of the file."""
    print_ending(root, SCENARIOS[scenario](root))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the flag and run in a folder of our own."""
    parser = argparse.ArgumentParser(prog="checkpoint_10", description=__doc__)
    parser.add_argument("--scenario", choices=tuple(SCENARIOS), default="faults", help="what is asked")
    options = parser.parse_args(argv)
    return in_disposable_project(PROJECT, lambda root: work(root, options.scenario))


if __name__ == "__main__":
    sys.exit(main())
