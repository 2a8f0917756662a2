"""Checkpoint 6: the same repair while a person redirects it, adds work, and stops it at five points."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .checkpoint_02 import PROMPT, check_ending
from .core import Message, ScriptMismatch, ScriptStep
from .disposable import in_disposable_project
from .person import Control
from .responses import ResponsesProvider
from .scripted import REPAIR, RIGHT, again, step
from .steering import Conversation, Ending, check_lawful, converse, describe_history, stoppable_tools
from .stream_replay import ReplayTransport, replay_script
from .workbench import PROJECT, TOOLS, print_ending

STEERING = "Keep the change to one line of calculator.py."
FOLLOW_UP = "Now say in one sentence what was wrong."
REGRET = "Also rename the function."
GO_ON = "Go on."
Action = Callable[[Control], object]


@dataclass(frozen=True)
class Scenario:
    """What the person does, what the model answers, and how the first run must end."""

    script: tuple[ScriptStep, ...]
    cues: tuple[tuple[str, Action], ...]
    """When the trace shows a line that begins like this, the person acts.  Each cue is used once."""
    ending: Ending = "model_finished"
    expected: tuple[str, ...] = ()
    """Texts that must stand in the conversation after the first run."""


def stopped_at(line: str, *expected: str, script: tuple[ScriptStep, ...] = REPAIR) -> Scenario:
    """A person who presses stop when this line appears, and later says: go on."""
    return Scenario(script, ((line, Control.interrupt),), "interrupted", expected)


# region: scenarios
SAY_WHY = step("add subtracted its second argument.", after=FOLLOW_UP)
SCENARIOS = {
    "steer": Scenario(
        (REPAIR[0], step("Read it.", "read-1", "read", after=STEERING, path="calculator.py"), *REPAIR[2:]),
        (("result test-1", lambda control: control.queues.put("steering", STEERING)),),
        expected=(STEERING,),
    ),
    "follow-up": Scenario(
        (*REPAIR, SAY_WHY),
        (("turn 1", lambda control: control.queues.put("follow-up", FOLLOW_UP)),),
        expected=(FOLLOW_UP,),
    ),
    "take-back": Scenario(
        REPAIR,
        (
            ("turn 1", lambda control: control.queues.put("follow-up", REGRET)),
            ("turn 3", lambda control: control.queues.take_back(1)),
        ),
    ),
    "before-request": stopped_at("person: watching"),
    "mid-text": stopped_at("text delta", "Run the tests to \n[interrupted here]"),
    "mid-arguments": stopped_at("arguments buffered: read", "Read the code under test.\n[interrupted here]"),
    "mid-tool": stopped_at("tests: started", "interrupted while running: the outcome is unknown"),
    "after-tool": stopped_at("result edit-1", "edited calculator.py"),
}
# endregion: scenarios


class Person:
    """Reads the trace as it appears and acts on cues.  Stands in for someone at a keyboard."""

    def __init__(self, control: Control, cues: Sequence[tuple[str, Action]]) -> None:
        self._control = control
        self._cues = list(cues)

    def watch(self, line: str) -> None:
        """Print a line of the trace, then act if it is the one that was waited for."""
        print(line)
        for cue in [cue for cue in self._cues if line.startswith(cue[0])]:
            self._cues.remove(cue)
            cue[1](self._control)
            print(f"person: acts ({cue[0]})")


async def run_scenario(root: Path, scenario: Scenario) -> Ending:
    """One run under the person's hands and, when it was interrupted, a second one on the same rows."""
    control, conversation = Control(), Conversation([Message("user", PROMPT)])
    person = Person(control, scenario.cues)

    async def run(script: Sequence[ScriptStep]) -> Ending:
        transport = ReplayTransport(replay_script(script))
        provider = ResponsesProvider(transport, "replay", person.watch, on_text=control.hear)
        ending = await converse(
            conversation, provider, TOOLS, stoppable_tools(root, person.watch), control, report=person.watch
        )
        check_lawful(conversation.rows)
        return ending

    person.watch("person: watching")
    ending = await run(scenario.script)
    kept = "\n".join(row.content for row in conversation.rows)
    if ending != scenario.ending or [text for text in scenario.expected if text not in kept]:
        raise ScriptMismatch(f"the run ended as {ending} with {kept!r}")
    if ending == "interrupted":
        print(describe_history(conversation.rows))
        control.resume()
        conversation.add(Message("user", GO_ON))
        print(f"person: says {GO_ON}")
        fixed = RIGHT in (root / "calculator.py").read_text(encoding="utf-8")
        ending = await run(again(fixed=fixed))
    print(describe_history(conversation.rows))
    return ending


def work(root: Path, scenario: Scenario) -> int:
    """Run a scenario; whatever the person did, the repair is done in the end."""
    ending = asyncio.run(run_scenario(root, scenario))
    check_ending(root, fixed=True)
    print_ending(root, ending)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the flag and run in a folder of our own."""
    parser = argparse.ArgumentParser(prog="checkpoint_06", description=__doc__)
    parser.add_argument("--scenario", choices=tuple(SCENARIOS), default="steer", help="what the person does")
    options = parser.parse_args(argv)
    return in_disposable_project(PROJECT, lambda root: work(root, SCENARIOS[options.scenario]))


if __name__ == "__main__":
    sys.exit(main())
