"""`wisp.Agent`: the library's front door.  A conversation with a model that can use tools, in your program.

agent = wisp.Agent(model="local/qwen3")
print(await agent.ask("Why does test_add fail?"))
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any

from wisp.harness.ports import ApprovalAnswer
from wisp.host.client import CommandRefused, OpenFailed, OpenRequest
from wisp.host.commands import Cancel, FollowUp, Prompt, QueueEdit, QueuePop, Steer
from wisp.host.events import AgentCompleted, Event, QuestionAsked, ToolApprovalRequested
from wisp.host.service import SessionHost
from wisp.host.view import RunView
from wisp.loop.boundary import Boundary
from wisp.providers.base import Provider
from wisp.tools.base import Tool

Approve = Callable[[ToolApprovalRequested], bool | Awaitable[bool]]
"""Decides about one operation; gets the whole of it."""


Answerer = Callable[[QuestionAsked], str | Awaitable[str]]
"""Answers one question, with one of its options where it has any."""


class AgentError(Exception):
    """A run did not end normally, or the agent could not be made.

    Args:
        message: one sentence.
        stop_reason: the run's, empty when none began.
    """

    def __init__(self, message: str, stop_reason: str = "") -> None:
        super().__init__(message)
        self.stop_reason = stop_reason


class Agent:
    """One conversation.  Settings not given come from the settings file and the environment.

    Args:
        model: `PROVIDER/ID`, as on the command line.
        cwd: the folder to work in.
        permission_mode: `read-only`, `plan`, `ask`, `auto` or `full`.
        approve: asked about every operation the mode asks about; without it such operations are refused
            and the model is told.
        provider: an object to ask instead of a configured service.
        tools: tools besides the built-in ones: functions with annotations (their calls are asked about; see
            `wisp.tool` to say otherwise) or objects with the `Tool` protocol.
        only_tools: names of the tools to offer; None for all, empty for none.
        instructions: more text for the model, after everything else.
        answer: gives the words for each question: of the model, or whether a limit may be passed; without it
            the model has nobody to ask, and a limit ends the run.
        boundary: asked between two requests: stop, say more, or go on with another history.
        session: keep the conversation on disk.
        resume: go on with a stored session, by the beginning of its id.
        max_turns, max_cost, max_tokens, max_time: limits of each run: requests, US dollars, tokens, seconds.
        options: any other setting, by its name in the settings file.
    """

    def __init__(
        self,
        model: str = "",
        *,
        cwd: str = "",
        permission_mode: str = "ask",
        approve: Approve | None = None,
        provider: Provider | None = None,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        only_tools: Sequence[str] | None = None,
        instructions: str = "",
        answer: Answerer | None = None,
        boundary: Boundary | None = None,
        session: bool = False,
        resume: str = "",
        max_turns: int | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_time: float | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        chosen = {
            "model": model or None,
            "permission_mode": permission_mode,
            "tools": list(only_tools) if only_tools is not None else None,
            "max_turns": max_turns,
            "max_cost": max_cost,
            "max_tokens": max_tokens,
            "max_time": max_time,
            **(options or {}),
        }
        self._request = OpenRequest(
            options={name: value for name, value in chosen.items() if value is not None},
            cwd=cwd,
            no_session=not (session or resume),
            resume=resume,
        )
        self._provider = provider
        self._tools = tuple(_tool(given) for given in tools)
        self._approver = _Callback(approve) if approve is not None else None
        self._questioner = _Words(answer) if answer is not None else None
        self._boundary = boundary
        self._instructions = (instructions,) if instructions else ()
        self._host: SessionHost | None = None

    async def run(self, prompt: str) -> AsyncGenerator[Event, None]:
        """Start a run and yield its events; the last is `AgentCompleted`.  Leaving early stops the run.

        Raises:
            AgentError: the agent cannot be made as configured, or a run is in progress.
        """
        host = await self._open()
        ended = False
        async with aclosing(host.events()) as events:
            try:
                await host.send(Prompt(prompt))
            except CommandRefused as exc:
                raise AgentError(str(exc)) from None
            try:
                async for envelope in events:
                    ended = isinstance(envelope.event, AgentCompleted)
                    yield envelope.event
                    if ended:
                        return
            finally:
                if not ended:
                    await host.send(Cancel("the caller left"))
                    await host.settled()

    async def ask(self, prompt: str) -> str:
        """Run `prompt` to its end and return the answer's text.

        Raises:
            AgentError: the run did not end normally.
        """
        async with aclosing(self.run(prompt)) as events:
            async for _ in events:
                pass
        result = self.result
        if result.stop_reason != "model_finished" or result.answer is None:
            raise AgentError(result.error or f"the run ended: {result.stop_reason}", str(result.stop_reason))
        return result.answer

    @property
    def result(self) -> RunView:
        """The last run: its answer, stop reason, turns, usage, cost and denials."""
        return self._host.view.run if self._host is not None else RunView()

    @property
    def session_id(self) -> str:
        """The conversation's id; empty before the first run."""
        return self._host.snapshot().session_id if self._host is not None else ""

    async def steer(self, text: str) -> None:
        """Say something at the next request boundary of the run in progress."""
        await (await self._open()).send(Steer(text))

    async def follow_up(self, text: str) -> None:
        """Say something when the run in progress would stop."""
        await (await self._open()).send(FollowUp(text))

    async def take_back(self, message_id: str = "") -> None:
        """Take a waiting message back: that one, or the newest; `QueueUpdated.removed` has its words.

        Raises:
            CommandRefused: none waits, or not that one.
        """
        await (await self._open()).send(QueuePop(message_id))

    async def edit(self, message_id: str, text: str) -> None:
        """Give a waiting message other words.

        Raises:
            CommandRefused: it does not wait any more.
        """
        await (await self._open()).send(QueueEdit(message_id, text))

    async def cancel(self) -> None:
        """Stop the run in progress; its events go on to their end."""
        if self._host is not None:
            await self._host.send(Cancel())

    async def close(self) -> None:
        """Stop what runs and let everything go.  The agent opens again on the next run."""
        host, self._host = self._host, None
        if host is not None:
            await host.close()

    async def __aenter__(self) -> Agent:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _open(self) -> SessionHost:
        if self._host is None:
            from wisp.host.build import Overrides, open_host

            overrides = Overrides(
                self._provider,
                self._approver,
                self._questioner,
                self._boundary,
                self._tools,
                self._instructions,
            )
            try:
                self._host = await open_host(self._request, overrides)
            except OpenFailed as exc:
                raise AgentError(str(exc)) from None
        return self._host


def _tool(given: Tool | Callable[..., Any]) -> Tool:
    """A function as a tool; what is one already needs nothing of that room."""
    if hasattr(given, "prepare"):
        return given  # type: ignore[return-value]
    from wisp.tools.functions import as_tool

    return as_tool(given)


class _Words:
    """A function in the place of a person who is asked for words; the harness's `Questioner`."""

    def __init__(self, function: Answerer) -> None:
        self._function = function

    async def ask(self, question: QuestionAsked) -> str:
        answer = self._function(question)
        return answer if isinstance(answer, str) else await answer


class _Callback:
    """A function in the place of a person; the harness's `Approver`."""

    def __init__(self, function: Approve) -> None:
        self._function = function

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        answer = self._function(request)
        approved = answer if isinstance(answer, bool) else await answer
        return ApprovalAnswer(request.digest, approved)
