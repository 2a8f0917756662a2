"""Exercise 1.1: two wrong guesses, each answered under an identifier of its own."""

from examples.crafting_agents.core import Message, ScriptedProvider, ScriptStep, ToolCall


def make_provider() -> ScriptedProvider:
    """Four answers: two wrong guesses, the right path, the diagnosis."""
    first = ToolCall("1", "read", {"path": "sum.py"})
    second = ToolCall("1", "read", {"path": "add.py"})
    third = ToolCall("3", "read", {"path": "calculator.py"})
    diagnosis = "add subtracts b. It needs addition; no file has been changed."
    return ScriptedProvider(
        (
            ScriptStep(Message("assistant", "Locate the function.", (first,))),
            ScriptStep(Message("assistant", "Try another name.", (second,)), after="error: use read"),
            ScriptStep(Message("assistant", "Use the path it names.", (third,)), after="error: use read"),
            ScriptStep(Message("assistant", diagnosis), after="return a - b"),
        )
    )
