"""Exercise 1.1: let the model guess wrong twice before it finds the file."""

from examples.crafting_agents.core import Message, ScriptedProvider, ScriptStep, ToolCall


def make_provider() -> ScriptedProvider:
    """Four answers: two wrong guesses, the right path, the diagnosis."""
    first = ToolCall("1", "read", {"path": "sum.py"})
    diagnosis = "add subtracts b. It needs addition; no file has been changed."
    return ScriptedProvider(
        (
            ScriptStep(Message("assistant", "Locate the function.", (first,))),
            ScriptStep(Message("assistant", diagnosis), after="return a - b"),
        )
    )
