"""Checkpoint 5: the same repair, with policy and approval in front of every effect."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .checkpoint_02 import PROMPT
from .checkpoint_03 import context_handlers
from .context import CONTEXT_PROJECT, CONTEXT_TOOLS, assemble_instructions
from .core import ScriptedProvider, ScriptMismatch, ScriptStep, run_agent
from .disposable import in_disposable_project
from .scripted import REPAIR, edit_step, step
from .side_effects import READS, ApprovalRequest, ControlledExecutor, Policy
from .workbench import PROJECT, SOURCE_NAME, print_ending

HOST_COMMENT = "# a person was here\n"
BROKEN = PROJECT[SOURCE_NAME]
FIXED = BROKEN.replace("a - b", "a + b")
EFFECTS_ALLOWED = Policy(READS | {"edit", "test"})


def refused_script(after: str, closing: str) -> tuple[ScriptStep, ...]:
    """Read, ask for the edit, and accept the refusal that the host is expected to give."""
    return (
        step("Read the code under test.", "read-1", "read", path=SOURCE_NAME),
        edit_step("edit-1", after="return a - b"),
        step(closing, after=after),
    )


@dataclass(frozen=True)
class Scenario:
    """What the host does, what the script expects to observe, and how the file must end."""

    script: tuple[ScriptStep, ...]
    ending: str
    approvals: int
    """How many requests must have been made."""
    policy: Policy = EFFECTS_ALLOWED
    answer: bool = True
    interfere: bool = False
    """Whether the host changes the file while it is being asked."""


# region: scenarios
SCENARIOS = {
    "repair": Scenario(REPAIR, FIXED, approvals=3),
    "policy-denied": Scenario(
        refused_script("policy_denied", "This run may only read, so the bug is still there."),
        BROKEN,
        approvals=0,
        policy=Policy(),
    ),
    "approval-denied": Scenario(
        refused_script("approval_denied", "The edit was refused, so the bug is still there."),
        BROKEN,
        approvals=1,
        answer=False,
    ),
    "stale-input": Scenario(
        refused_script("stale_input", "The file changed under the request, so the bug is still there."),
        BROKEN + HOST_COMMENT,
        approvals=1,
        interfere=True,
    ),
}
# endregion: scenarios


def make_approver(
    root: Path, scenario: Scenario, seen: list[ApprovalRequest]
) -> Callable[[ApprovalRequest], bool]:
    """Stand in for a person: note the request, perhaps change the file meanwhile, and answer."""

    def approve(request: ApprovalRequest) -> bool:
        seen.append(request)
        if scenario.interfere:
            with (root / SOURCE_NAME).open("a", encoding="utf-8") as source:
                source.write(HOST_COMMENT)
        return scenario.answer

    return approve


def work(root: Path, scenario: Scenario) -> int:
    """Run a scenario and check both what was asked and what became of the file."""
    seen: list[ApprovalRequest] = []
    executor = ControlledExecutor(
        root,
        CONTEXT_TOOLS,
        context_handlers(root),
        make_approver(root, scenario, seen),
        scenario.policy,
    )
    instructions = assemble_instructions(root, CONTEXT_TOOLS, trusted=True)
    provider = ScriptedProvider(scenario.script)
    run = run_agent(PROMPT, provider, CONTEXT_TOOLS, executor.execute, instructions=instructions)
    result = asyncio.run(run)
    source = (root / SOURCE_NAME).read_text(encoding="utf-8")
    if source != scenario.ending or len(seen) != scenario.approvals:
        raise ScriptMismatch(f"{len(seen)} approvals were asked for, and {SOURCE_NAME} ended as {source!r}")
    print_ending(root, result.stop_reason)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Read the flag and run in a folder of our own."""
    parser = argparse.ArgumentParser(prog="checkpoint_05", description=__doc__)
    parser.add_argument("--scenario", choices=tuple(SCENARIOS), default="repair", help="what the host does")
    options = parser.parse_args(argv)
    return in_disposable_project(CONTEXT_PROJECT, lambda root: work(root, SCENARIOS[options.scenario]))


if __name__ == "__main__":
    sys.exit(main())
