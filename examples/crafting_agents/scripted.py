"""The authored conversations of chapters 2 to 8, and the provider that plays them.

Each chapter puts more machinery around the same few decisions, so they are written down once.  Owns the
scripts; the provider itself is part of chapter 1 and lives in core.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from .core import Message, ScriptedProvider, ScriptMismatch, ScriptStep, ToolCall, ToolSpec

__all__ = [
    "DENIED",
    "DISCOVERY",
    "REPAIR",
    "ScriptMismatch",
    "ScriptStep",
    "ScriptedProvider",
    "again",
    "step",
]

WRONG = "    return a - b\n"
RIGHT = "    return a + b\n"


def step(text: str, *call: str, after: str | None = None, **arguments: str) -> ScriptStep:
    """One answer that asks for one call, given as its id and tool name, or for none."""
    calls = (ToolCall(call[0], call[1], arguments),) if call else ()
    return ScriptStep(Message("assistant", text, calls), after)


def edit_step(call_id: str, after: str) -> ScriptStep:
    """Ask for the one change that repairs the project."""
    edit = ToolCall(call_id, "edit", {"path": "calculator.py", "old": WRONG, "new": RIGHT})
    return ScriptStep(Message("assistant", "Add instead of subtracting.", (edit,)), after)


# region: repair scripts
# Chapter 2.  Seeing the test fail comes first: otherwise a later success would prove nothing.
REPAIR = (
    step("Run the tests to see the failure.", "test-1", "test"),
    step("Read the code under test.", "read-1", "read", after="FAILED", path="calculator.py"),
    edit_step("edit-1", after="return a - b"),
    step("Run the tests again.", "test-2", "test", after="edited calculator.py"),
    step("The test passes: add now adds.", after="OK"),
)
DENIED = (
    *REPAIR[:3],
    step("The host does not allow the edit, so the bug is still there.", after="edit denied"),
)

# Chapter 3.  Discovery comes before the first read, so the later steps start one observation later.
DISCOVERY = (
    step("See which files there are.", "find-1", "discover"),
    step("Read what the project says about itself.", "read-0", "read", after="README.md", path="README.md"),
    step("Run the tests to see the failure.", "test-1", "test", after="adds two numbers"),
)


# Chapter 6.  After an interruption the model looks again before it acts, and uses fresh call ids.
def again(*, fixed: bool) -> tuple[ScriptStep, ...]:
    """The rest of the repair in a second run, from whatever state the first one left the file in."""
    look = step("See where things stand.", "again-1", "test")
    if fixed:
        return (look, step("The test passes: add now adds.", after="OK"))
    return (
        look,
        step("Read the code under test.", "again-2", "read", after="FAILED", path="calculator.py"),
        edit_step("again-3", after="return a - b"),
        step("Run the tests again.", "again-4", "test", after="edited calculator.py"),
        step("The test passes: add now adds.", after="OK"),
    )


# endregion: repair scripts


# region: rule provider
class RuleProvider:
    """Answers by a few fixed rules about the latest row, so it can pick up a repair at any point.

    A script knows only the story it was written for.  After a kill the story may stand anywhere, and what is
    needed is somebody who looks first.  It is still no model: the rules are all it knows.
    """

    def __init__(self, prefix: str = "r", right: str = RIGHT) -> None:
        self._prefix = prefix
        self._right = right
        self._asked = 0

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """Look at the latest row and give the next step of the repair."""
        self._asked += 1
        latest = history[-1]
        if latest.role == "tool" and latest.content.startswith("exit=0"):
            return Message("assistant", "The test passes: add now adds.")
        if latest.role == "tool" and latest.content.startswith("exit=1"):
            return self._ask("Read the code under test.", "read", path="calculator.py")
        if latest.role == "tool" and "return a - b" in latest.content:
            arguments = {"path": "calculator.py", "old": WRONG, "new": self._right}
            return self._ask("Add instead of subtracting.", "edit", **arguments)
        return self._ask("Run the tests to see where things stand.", "test")

    def _ask(self, text: str, tool: str, **arguments: str) -> Message:
        return Message("assistant", text, (ToolCall(f"{self._prefix}{self._asked}", tool, arguments),))


# endregion: rule provider
