"""Checkpoint 7: the same repair, killed after every record, torn at every byte, replayed and branched."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .checkpoint_02 import PROMPT, check_ending
from .core import Message, ScriptMismatch
from .disposable import in_disposable_project
from .journal import DurableConversation, Journal, fold, load
from .person import Control
from .recorded import DyingJournal, Recorded, as_text
from .scripted import RIGHT, RuleProvider
from .steering import check_lawful, converse, describe_history, stoppable_tools
from .workbench import PROJECT, SOURCE_NAME, TOOLS, print_ending

JOURNAL = "journal.jsonl"
OTHER_RIGHT = "    return b + a\n"
CHECKOUT = Path(__file__).resolve().parents[2]


def repair(root: Path, journal: Journal, prompt: str, prefix: str, right: str = RIGHT) -> str:
    """Say something in the conversation that the journal holds, and run until the model stops."""
    conversation = DurableConversation(journal)
    conversation.add(Message("user", prompt))
    provider = Recorded(RuleProvider(prefix, right), conversation)
    report: Callable[[str], None] = print if prefix == "a" else lambda line: None
    tools = stoppable_tools(root, report)
    ending = asyncio.run(converse(conversation, provider, TOOLS, tools, Control(), report=report))
    check_lawful(conversation.rows)
    return ending


# region: replay
def replay(root: Path) -> str:
    """Run once; then rebuild every request from the file alone and compare it with what was sent."""
    ending = repair(root, Journal(root / JOURNAL), PROMPT, "a")
    records = load((root / JOURNAL).read_bytes()).records
    for record in records:
        print(f"record {record.id} after {record.parent}: {record.kind}")
        if record.kind == "request":
            same = as_text([row for _, row in fold(records, record.id)]) == record.body["text"]
            print(f"replayed request at record {record.id}: {'equal' if same else 'DIFFERENT'}")
            if not same:
                raise ScriptMismatch("a replayed request differs from the one that was sent")
    return ending


# endregion: replay


# region: kill
def kill(root: Path) -> str:
    """Kill the process after record 1, 2, 3, ... and let another one finish each time."""
    module = [sys.executable, "-m", "examples.crafting_agents.checkpoint_07", "--die-at"]
    for number in range(1, 100):
        (root / JOURNAL).unlink(missing_ok=True)
        (root / SOURCE_NAME).write_text(PROJECT[SOURCE_NAME], encoding="utf-8")
        child = subprocess.run([*module, str(number), str(root)], cwd=CHECKOUT, check=False)
        if child.returncode == 0:
            return "model_finished"
        journal = Journal(root / JOURNAL)
        mended = [row.content for _, row in fold(journal.records, journal.leaf)][-1].splitlines()[0]
        print(f"killed after record {number} ({journal.records[-1].kind}); resumed behind: {mended}")
        repair(root, journal, "Go on.", f"after-{number}-")
        journal.close()
        check_ending(root, fixed=True)
    raise ScriptMismatch("the run never came to its end")


# endregion: kill


# region: torn
def torn(root: Path) -> str:
    """Cut the file at every byte, then flip every byte: what was whole is read, what was not is reported."""
    ending = repair(root, Journal(root / JOURNAL), PROMPT, "t")
    data = (root / JOURNAL).read_bytes()
    whole = load(data).records
    for length in range(len(data) + 1):
        loaded = load(data[:length])
        complete = data[:length].count(b"\n")
        if loaded.records != whole[:complete] or bool(loaded.damage) != (
            data[:length][-1:] not in (b"", b"\n")
        ):
            raise ScriptMismatch(f"cut at byte {length}")
        check_lawful([row for _, row in fold(loaded.records, complete)])
    for place in range(len(data)):
        loaded = load(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        if not loaded.damage or any(record not in whole for record in loaded.records):
            raise ScriptMismatch(f"flipped byte {place}")
        check_lawful([row for _, row in fold(loaded.records, len(whole))])
    print("cut at every byte: every complete record was read, every unfinished line reported")
    print("flipped every byte: every damage was reported, every history stayed lawful")
    return ending


# endregion: torn


# region: branch
def branch(root: Path) -> str:
    """Go back to before the edit and try another one.  Both lines of history stay in one file."""
    journal = Journal(root / JOURNAL)
    repair(root, journal, PROMPT, "first-")
    first = journal.leaf
    (root / SOURCE_NAME).write_text(PROJECT[SOURCE_NAME], encoding="utf-8")
    fork = next(record.id for record in journal.records if "return a - b" in record.body.get("content", ""))
    journal.branch(fork)
    ending = repair(root, journal, "Try it with the operands swapped.", "second-", OTHER_RIGHT)
    for name, leaf in (("first", first), ("second", journal.leaf)):
        print(f"branch {name}, up to record {leaf}, forked at {fork}")
        print(describe_history([row for _, row in fold(journal.records, leaf)]))
    return ending


# endregion: branch
SCENARIOS = {"replay": replay, "kill": kill, "torn": torn, "branch": branch}


def work(root: Path, scenario: str) -> int:
    """Run a scenario and show what became of the file."""
    ending = SCENARIOS[scenario](root)
    if scenario != "branch":
        check_ending(root, fixed=True)
    print_ending(root, ending)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the flag and run in a folder of our own."""
    parser = argparse.ArgumentParser(prog="checkpoint_07", description=__doc__)
    parser.add_argument("--scenario", choices=tuple(SCENARIOS), default="replay", help="what happens to it")
    parser.add_argument("--die-at", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.die_at:
        number, root = int(options.die_at[0]), Path(options.die_at[1])
        repair(root, DyingJournal(root / JOURNAL, number), PROMPT, f"died-{number}-")
        return 0
    return in_disposable_project(PROJECT, lambda root: work(root, options.scenario))


if __name__ == "__main__":
    sys.exit(main())
