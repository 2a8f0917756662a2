"""Chapter 6: the same loop, with a person beside it who can redirect it, queue work and stop it.

Owns the conversation that outlives a run, and the settling of whatever an interruption leaves open.  The
order of turns is chapter 1's; what the person holds is in person.py.  Not promised: an edit that has begun is
not undone, and nothing here survives the end of the process.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .core import Message, Provider, ToolCall, ToolFailure, ToolSpec
from .person import Control, TurnInterrupted
from .workbench import TEST_COMMAND, TEST_SECONDS, TOOLS, describe_tests, dispatch, make_handlers

Ending = Literal["model_finished", "turn_limit", "interrupted"]
Execute = Callable[[ToolCall], Awaitable[str]]

CUT = "\n[interrupted here]"
UNKNOWN = "interrupted while running: the outcome is unknown, so look before you repeat it"
NOT_STARTED = "interrupted: not started"


# region: conversation
@dataclass
class Conversation:
    """The rows that every request is made of.  It is there before a run and stays after it.

    Whoever holds it sees each row the moment it exists, however the run then ends.
    """

    rows: list[Message] = field(default_factory=list)

    def add(self, row: Message) -> None:
        """Append a row for good."""
        self.rows.append(row)

    def begin(self, call: ToolCall) -> None:
        """Hear that a call is about to run.  In memory there is nothing to do; chapter 7 writes it down."""


def check_lawful(rows: Sequence[Message]) -> None:
    """Raise ValueError unless every call is followed by its one result, in order, before anything else."""
    waiting: list[str] = []
    for number, row in enumerate(rows):
        if row.role == "tool":
            if not waiting or row.tool_call_id != waiting.pop(0):
                raise ValueError(f"row {number} answers {row.tool_call_id!r}, which nobody waits for")
        elif waiting:
            raise ValueError(f"row {number} comes before the result of {waiting[0]!r}")
        waiting += [call.id for call in row.tool_calls]
    if waiting:
        raise ValueError(f"{waiting[0]!r} has no result")


def describe_history(rows: Sequence[Message]) -> str:
    """What the next request would be made of, one line per row."""
    lines = ["history:"]
    for row in rows:
        calls = "".join(f" +call {call.id}" for call in row.tool_calls)
        answers = f" for {row.tool_call_id}" if row.tool_call_id else ""
        lines.append(f"  {row.role}{answers}: {(row.content.splitlines() or [''])[0]}{calls}")
    return "\n".join(lines)


# endregion: conversation


# region: steered loop
async def converse(
    conversation: Conversation,
    provider: Provider,
    tools: Sequence[ToolSpec],
    execute: Execute,
    control: Control,
    *,
    max_turns: int = 10,
    report: Callable[[str], None] = print,
) -> Ending:
    """Run chapter 1's turns on a conversation that belongs to the caller, under a person's control.

    Returns:
        Why it stopped.  In every case the conversation is lawful: it can be sent again as it is.

    Raises:
        Exception: What provider, executor or report raise, as in chapter 1.  Open calls are settled first.
    """
    for turn in range(1, max_turns + 1):
        hear_person(conversation, control, report, stopping=False)
        control.draft = ""
        try:
            answer = await control.guard(provider.complete(tuple(conversation.rows), tools))
        except TurnInterrupted:
            keep_draft(conversation, control, report)
            return "interrupted"
        if answer.role != "assistant":
            raise ValueError(f"a provider must answer as assistant, not as {answer.role!r}")
        conversation.add(answer)
        report(f"turn {turn}: {answer.content}")
        if not answer.tool_calls and not hear_person(conversation, control, report, stopping=True):
            return "model_finished"
        if not await run_calls(conversation, answer.tool_calls, execute, control, report):
            return "interrupted"
    return "turn_limit"


def hear_person(
    conversation: Conversation, control: Control, report: Callable[[str], None], *, stopping: bool
) -> bool:
    """At a boundary, turn what is due into user rows; return whether there was anything."""
    due = control.queues.deliver(stopping=stopping)
    for queued in due:
        conversation.add(Message("user", queued.text))
        report(f"{queued.kind}: {queued.text}")
    return bool(due)


def keep_draft(conversation: Conversation, control: Control, report: Callable[[str], None]) -> None:
    """Keep the text that a person has already read.  Half a call is dropped: it was never authority."""
    if control.draft:
        conversation.add(Message("assistant", control.draft + CUT))
        report(f"kept text: {control.draft!r}")


async def run_calls(
    conversation: Conversation,
    calls: Sequence[ToolCall],
    execute: Execute,
    control: Control,
    report: Callable[[str], None],
) -> bool:
    """Carry out the calls of one answer, in order; return False when the person stopped them.

    Every call gets a result row before this is left, by whichever way: a call without one would make the
    whole conversation useless for the next request.
    """
    settled = 0
    begun = False
    try:
        for call in calls:
            begun = not control.interrupted
            if begun:
                conversation.begin(call)
                report(f"call {call.id}: {call.name} {call.arguments}")
            try:
                observation = await control.guard(_carry_out(execute, call))
            except ToolFailure as failure:
                observation = f"error: {failure}"
            conversation.add(Message("tool", observation, tool_call_id=call.id))
            settled += 1
            begun = False
            report(f"result {call.id}: {observation}")
    except TurnInterrupted:
        return False
    finally:
        for call in calls[settled:]:
            outcome = UNKNOWN if begun else NOT_STARTED
            begun = False
            conversation.add(Message("tool", outcome, tool_call_id=call.id))
            report(f"result {call.id}: {outcome}")
    return True


async def _carry_out(execute: Execute, call: ToolCall) -> str:
    return await execute(call)


# endregion: steered loop


# region: interruptible test tool
def stoppable_tools(root: Path, report: Callable[[str], None]) -> Execute:
    """Chapter 2's tools.  The two quick ones run at once; the one that takes time can be stopped."""
    handlers = make_handlers(root)

    async def execute(call: ToolCall) -> str:
        if call.name == "test" and not call.arguments:
            return await run_tests_until_stopped(root, report)
        return dispatch(call, TOOLS, handlers)

    return execute


async def run_tests_until_stopped(root: Path, report: Callable[[str], None]) -> str:
    """Chapter 2's test tool, as something that can be cancelled.

    Cancelling a wait does not end what one was waiting for.  The tests run in a session of their own, so that
    one signal reaches them and whatever they started.
    """
    process = await asyncio.create_subprocess_exec(
        *TEST_COMMAND,
        cwd=root,
        env={},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        report("tests: started")
        async with asyncio.timeout(TEST_SECONDS):
            printed, _ = await process.communicate()
        return describe_tests(root, process.returncode or 0, printed)
    except TimeoutError as error:
        raise ToolFailure(f"the tests did not end within {TEST_SECONDS} seconds") from error
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            report("tests: killed")


# endregion: interruptible test tool
