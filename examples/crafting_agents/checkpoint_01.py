"""Checkpoint 1: read the wrong file, read the right one, and stop with a diagnosis."""

from __future__ import annotations

import asyncio

from .core import Message, RunResult, ScriptedProvider, ScriptStep, ToolCall, ToolFailure, ToolSpec, run_agent

PROMPT = "add(2, 3) returns -1 instead of 5. Find out why."
SOURCE = """\
def add(a, b):
    return a - b
"""
TOOLS = (ToolSpec("read", "Return the text of one project file.", ("path",)),)


def execute(call: ToolCall) -> str:
    """Read from a project that is one string; any other path is a failure that names the right one."""
    if call.arguments.get("path") != "calculator.py":
        raise ToolFailure("use read with path='calculator.py'")
    return SOURCE


# region: script
def make_provider() -> ScriptedProvider:
    """Author the three answers: a wrong guess, its correction, and the diagnosis."""
    wrong_path = ToolCall("1", "read", {"path": "sum.py"})
    right_path = ToolCall("2", "read", {"path": "calculator.py"})
    diagnosis = "add subtracts b. It needs addition; no file has been changed."
    return ScriptedProvider(
        (
            ScriptStep(Message("assistant", "Locate the function.", (wrong_path,))),
            ScriptStep(
                Message("assistant", "Try the path from the error.", (right_path,)), after="error: use read"
            ),
            ScriptStep(Message("assistant", diagnosis), after="return a - b"),
        )
    )


# endregion: script


async def main() -> RunResult:
    """Run the scripted conversation and print its trace."""
    result = await run_agent(PROMPT, make_provider(), TOOLS, execute)
    print(f"stopped: {result.stop_reason}")
    return result


if __name__ == "__main__":
    asyncio.run(main())
