"""Chapter 1: the loop between a model that decides and a host that acts.

Everything later chapters add happens on one of two sides of this file: inside a provider, which produces
whole assistant messages, or inside an executor, which carries out one call.  The loop itself does not know
what a tool does, where a message came from, or whether the task is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

StopReason = Literal["model_finished", "turn_limit"]


# region: types
@dataclass(frozen=True)
class ToolCall:
    """An action the model asks for.  It is only data until the host decides to carry it out."""

    id: str
    """Ties the later result to this very request; two calls may share everything else."""
    name: str
    arguments: Mapping[str, str]


@dataclass(frozen=True)
class Message:
    """One row of the conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Only an assistant asks for calls; text and calls may arrive together."""
    tool_call_id: str | None = None
    """On a tool row: which call this row answers."""


@dataclass(frozen=True)
class ToolSpec:
    """What the model is told about a tool.  All parameters are strings and all are required."""

    name: str
    description: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunResult:
    """How a run ended.  Neither reason says that the task was solved."""

    history: tuple[Message, ...]
    stop_reason: StopReason


class ToolFailure(Exception):
    """A tool could not do what was asked, in a way the model can react to (a missing file, a wrong name).

    Nothing else becomes an observation: a bug in the host must surface as a bug.
    """


class Provider(Protocol):
    """Turns a conversation into the next assistant message, whole."""

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message: ...


# endregion: types


# region: loop
async def run_agent(
    prompt: str,
    provider: Provider,
    tools: Sequence[ToolSpec],
    execute: Callable[[ToolCall], str],
    *,
    instructions: Sequence[str] = (),
    max_turns: int = 10,
    report: Callable[[str], None] = print,
) -> RunResult:
    """Alternate between asking the model and acting for it, until it asks for nothing or the budget is spent.

    Args:
        prompt: What the user wants; it becomes the user row.
        provider: Asked once per turn, each time with the entire history so far.
        tools: The catalog, sent unchanged with every request.
        execute: Carries out one call and returns what the model shall see.  Calls of one message are
            executed one after another, in the order in which the model gave them.
        instructions: Blocks of host text; each becomes a system row ahead of the prompt, once per run.
        max_turns: How many requests this run may make at most.
        report: Is told each step as text.  It watches; nothing it returns is used.

    Returns:
        The full history, failed calls included, and why the run stopped.

    Raises:
        ValueError: The budget is not positive, or the provider answered in a role other than assistant.
        Exception: Whatever provider, executor or report raise, except that a ToolFailure from the executor
            is given to the model.
    """
    if max_turns <= 0:
        raise ValueError(f"max_turns must be at least 1, not {max_turns}")
    history = [*(Message("system", block) for block in instructions), Message("user", prompt)]
    for turn in range(1, max_turns + 1):
        # A copy, so that a provider cannot rewrite what has already happened.
        answer = await provider.complete(tuple(history), tools)
        if answer.role != "assistant":
            raise ValueError(f"a provider must answer as assistant, not as {answer.role!r}")
        # Kept before its calls run: the next request has to show the question beside each result.
        history.append(answer)
        report(f"turn {turn}: {answer.content}")
        if not answer.tool_calls:
            return RunResult(tuple(history), "model_finished")
        for call in answer.tool_calls:
            report(f"call {call.id}: {call.name} {call.arguments}")
            observation = observe(call, execute)
            history.append(Message("tool", observation, tool_call_id=call.id))
            report(f"result {call.id}: {observation}")
    return RunResult(tuple(history), "turn_limit")


def observe(call: ToolCall, execute: Callable[[ToolCall], str]) -> str:
    """Carry out one call; an expected failure becomes text the model can learn from."""
    try:
        return execute(call)
    except ToolFailure as failure:
        return f"error: {failure}"


# endregion: loop


# region: scripted provider
class ScriptMismatch(Exception):
    """The run left its script, so whatever the script says next would prove nothing."""


@dataclass(frozen=True)
class ScriptStep:
    """One authored answer."""

    message: Message
    after: str | None = None
    """Text the latest row must contain before this answer is given; None asks for nothing."""


class ScriptedProvider:
    """Plays authored answers in order and checks that the host delivered what each one relies on.

    There is no model here and no learning.  What a script can show is that the observation a model would
    need really reached the next request.
    """

    def __init__(self, steps: Sequence[ScriptStep]) -> None:
        self._steps = tuple(steps)
        self._given = 0

    async def complete(self, history: Sequence[Message], tools: Sequence[ToolSpec]) -> Message:
        """Give the next answer.

        Raises:
            ScriptMismatch: The latest row lacks the text the step needs, or no step is left.
        """
        if self._given == len(self._steps):
            raise ScriptMismatch(f"asked for answer {self._given + 1}, but the script has {self._given}")
        step = self._steps[self._given]
        latest = history[-1].content if history else ""
        if step.after is not None and step.after not in latest:
            raise ScriptMismatch(
                f"answer {self._given + 1} needs {step.after!r}, but the latest row is {latest!r}"
            )
        self._given += 1
        return step.message


# endregion: scripted provider
