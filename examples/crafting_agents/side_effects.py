"""Chapter 5: who may have an effect, who agreed to it, and whether the world is still as agreed.

Owns the host's policy, the request for approval, and the comparison of files before and after it.  The tools
stay those of the chapters before.  Not promised: between the last comparison and the write the files can
still change, and an approved test runs project code with all your rights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .core import ToolCall, ToolFailure, ToolSpec
from .workbench import SOURCE_NAME, TEST_NAME, Handlers, check_call, read_source, replace_once

MAX_SNAPSHOT_CHARACTERS = 16_000
READS = frozenset({"discover", "read"})
Answer = TypeVar("Answer")


# region: policy
@dataclass(frozen=True)
class Policy:
    """Which tools may be used at all.  Decided by the host before the run, and not by asking.

    A tool that is offered to the model need not be allowed, and hiding a tool does not forbid it.  The
    default allows reading only.
    """

    allowed: frozenset[str] = READS

    def check(self, name: str) -> None:
        """Raise ToolFailure for a tool that is not allowed."""
        if name not in self.allowed:
            raise ToolFailure(f"policy_denied: {name} is not allowed in this run")


# endregion: policy


# region: approval
@dataclass(frozen=True)
class FileSnapshot:
    """A file's text at one moment."""

    path: str
    text: str


@dataclass(frozen=True)
class ApprovalRequest:
    """One exact operation, for a person to agree to or not.  An answer is good for this request only."""

    call_id: str
    tool: str
    arguments: tuple[tuple[str, str], ...]
    inputs: tuple[FileSnapshot, ...]
    """Every file that the operation depends on, as it was when the request was made."""


# endregion: approval


# region: snapshot compare
def take_snapshots(root: Path, tool: str) -> tuple[FileSnapshot, ...]:
    """Read the files that a tool's effect depends on.  A test depends on the code and on the test."""
    names = (SOURCE_NAME, TEST_NAME) if tool == "test" else (SOURCE_NAME,)
    snapshots = tuple(FileSnapshot(name, read_source(root, name, names)) for name in names)
    for snapshot in snapshots:
        if len(snapshot.text) > MAX_SNAPSHOT_CHARACTERS:
            raise ToolFailure(f"{snapshot.path} has more than {MAX_SNAPSHOT_CHARACTERS} characters")
    return snapshots


def check_unchanged(root: Path, tool: str, agreed: tuple[FileSnapshot, ...]) -> None:
    """Raise ToolFailure when a file differs from what was agreed, or is no regular file any more."""
    try:
        current = take_snapshots(root, tool)
    except ToolFailure as failure:
        raise ToolFailure(f"stale_input: {failure}") from failure
    if current != agreed:
        changed = [now.path for now, then in zip(current, agreed, strict=True) if now != then]
        raise ToolFailure(f"stale_input: {', '.join(changed)} changed since the request; read and ask again")


# endregion: snapshot compare


def ask_host(callback: Callable[..., Answer], *arguments: object) -> Answer:
    """Call code of the host.

    The loop would show a ToolFailure to the model as if a tool had failed.  From a host callback it is a bug,
    and must stop the run like any other.
    """
    try:
        return callback(*arguments)
    except ToolFailure as failure:
        raise RuntimeError("a host callback raised ToolFailure") from failure


# region: controlled executor
@dataclass(frozen=True)
class ControlledExecutor:
    """Carries out calls for run_agent, with one fixed order of questions in front of every effect."""

    root: Path
    tools: Sequence[ToolSpec]
    handlers: Handlers
    approve: Callable[[ApprovalRequest], bool]
    policy: Policy = Policy()
    report: Callable[[str], None] = print

    def execute(self, call: ToolCall) -> str:
        """Validate, apply policy, check the target, and then read at once or ask before an effect.

        From here on only our own copy counts.  Whoever else holds the call may change its arguments while a
        person reads the request, and that must not change what is done.
        """
        arguments = dict(call.arguments)
        own = ToolCall(call.id, call.name, arguments)
        ask_host(self.report, f"host sees: {own.name} {arguments}")
        check_call(own, self.tools)
        self.policy.check(own.name)
        if own.name not in READS:
            self._settle_effect(own)
        return self.handlers[own.name](**arguments)

    def _settle_effect(self, call: ToolCall) -> None:
        """Return only when this very effect was agreed to and its inputs are still the same."""
        if call.name == "edit":
            read_source(self.root, call.arguments["path"], (SOURCE_NAME,))
        inputs = take_snapshots(self.root, call.name)
        if call.name == "edit":
            # What cannot succeed is not worth a question.
            replace_once(inputs[0].text, call.arguments["old"], call.arguments["new"])
        request = ApprovalRequest(call.id, call.name, tuple(call.arguments.items()), inputs)
        ask_host(self.report, f"approval requested: {call.name} {', '.join(file.path for file in inputs)}")
        # Only True agrees: a callback that forgets to return, or returns a word, has not.
        if ask_host(self.approve, request) is not True:
            raise ToolFailure(f"approval_denied: {call.name} was not carried out")
        ask_host(self.report, f"approval granted: {call.name}")
        check_unchanged(self.root, call.name, inputs)
        ask_host(self.report, f"dispatch: {call.name}")
        # Once more, because reporting ran code of the host too.
        check_unchanged(self.root, call.name, inputs)


# endregion: controlled executor
