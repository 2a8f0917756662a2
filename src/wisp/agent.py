"""`wisp.Agent`: the library's front door.  A conversation with a model that can use tools, in your program.

    agent = wisp.Agent(model="local/qwen3")
    print(await agent.ask("Why does test_add fail?"))

Every `..._sync` method does the same without `await`, also in a notebook; see `docs/guide/sdk.md`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, TypeVar, overload

from wisp.blocking import ONE_AT_A_TIME, LoopThread, within
from wisp.callbacks import following, shape_of, tool_of
from wisp.contained import Answered, Answerer, Approve, Asked, Decided, Edge, Held, Streaming
from wisp.host.answers import AnswerCheck
from wisp.host.client import CommandRefused, OpenFailed, OpenRequest
from wisp.host.commands import AnyCommand, Cancel, FollowUp, Prompt, QueueEdit, QueuePop, Steer
from wisp.host.events import AgentCompleted, Event
from wisp.host.service import SessionHost
from wisp.host.view import RunView
from wisp.loop.boundary import Boundary
from wisp.messages.content import Image
from wisp.messages.ids import SystemClock
from wisp.providers.base import Provider
from wisp.tools.base import Tool

T = TypeVar("T")

_ELSEWHERE = (
    "this agent is open in another event loop; close it there first, "
    "keep to one asyncio.run for the whole conversation, or use only the methods that end in _sync"
)


class AgentError(Exception):
    """A run did not end normally, or the agent could not be made or do what it was asked.

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
        approve: asked about every operation that mode and rules do not settle; without it such operations
            are refused and the model is told.
        allow, deny: standing rules such as `edit(src/**)` or `bash(pytest **)`; deny wins.
        provider: an object to ask instead of a configured service.
        tools: tools besides the built-in ones: functions with annotations (their calls are asked about; see
            `wisp.tool` to say otherwise) or objects with the `Tool` protocol.  One that has the name of a
            built-in tool takes its place.
        only_tools: names of the tools to offer; None for all, empty for none.
        prompt: what every request begins with, instead of wisp's own words about its work.
        instructions: more text for the model, after everything else.
        answer: gives the words for each question: of the model, or whether a limit may be passed; without it
            the model has nobody to ask, and a limit ends the run.
        boundary: asked between two requests: stop, say more, or go on with another history.
        session: keep the conversation on disk.
        resume: go on with a stored session, by the beginning of its id.
        max_turns, max_cost, max_tokens, max_time: limits of each run: requests, US dollars, tokens, seconds.
        options: any other setting, by its name in the settings file.

    Raises:
        TypeError: a function cannot be a tool.
    """

    def __init__(
        self,
        model: str = "",
        *,
        cwd: str = "",
        permission_mode: str = "ask",
        approve: Approve | None = None,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        provider: Provider | None = None,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        only_tools: Sequence[str] | None = None,
        prompt: str = "",
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
            "permissions": {"allow": list(allow), "deny": list(deny)} if allow or deny else None,
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
        edge = self._edge = Edge(self.cancel)
        self._provider = Streaming(provider, edge) if provider is not None else None
        self._tools = tuple(Held(tool_of(given), edge) for given in tools)
        self._approver = Asked(approve, edge) if approve is not None else None
        self._questioner = Answered(answer, edge) if answer is not None else None
        decided = Decided(boundary, edge) if boundary is not None else None
        self._check = AnswerCheck(None, SystemClock(), decided)
        self._prompt, self._instructions = prompt, (instructions,) if instructions else ()
        self._host: SessionHost | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()
        self._thread: LoopThread | None = None
        self._left: Callable[[], bool] = lambda: False
        """Whether nobody follows the run that was begun last."""

    # -- a run --------------------------------------------------------------------------------------------

    def run(
        self, prompt: str, *, attach: Sequence[str] = (), images: Sequence[Image] = ()
    ) -> AsyncGenerator[Event, None]:
        """Start a run and yield its events; the last is `AgentCompleted`.  Leaving early stops the run.

        Args:
            attach: files (text or pictures) that go along with the prompt.
            images: pictures that go along.

        Raises:
            AgentError: the agent cannot be made as configured, a file cannot be read, or a run is in
                progress.
        """
        return following(self._run, Prompt(prompt, tuple(images), tuple(attach)))

    async def _run(self, prompt: Prompt, left: Callable[[], bool]) -> AsyncGenerator[Event, None]:
        self._check.judge = None
        async with aclosing(self._events(prompt, left)) as events:
            async for event in events:
                yield event

    @overload
    async def ask(self, prompt: str, *, attach: Sequence[str] = (), images: Sequence[Image] = ()) -> str: ...

    @overload
    async def ask(
        self, prompt: str, *, returns: type[T], attach: Sequence[str] = (), images: Sequence[Image] = ()
    ) -> T: ...

    async def ask(
        self,
        prompt: str,
        *,
        returns: Any = None,
        attach: Sequence[str] = (),
        images: Sequence[Image] = (),
    ) -> Any:
        """Run `prompt` to its end and return the answer's text, or the answer as a value of a type.

        Args:
            returns: the type of the answer: a dataclass, msgspec struct, pydantic model, `TypedDict`, `list`
                of such, or any type that JSON can express.  The model is told its schema, and asked once
                more where its answer does not fit.
            attach, images: as of `run`.

        Raises:
            AgentError: the run did not end normally, or its answer does not fit `returns`.
            TypeError: `returns` cannot be described to a model.
        """
        words, judge = prompt, None
        if returns is not None:
            wish, judge = shape_of(returns)
            words = f"{prompt}\n\n{wish}"
        self._check.judge = judge
        async with aclosing(self._events(Prompt(words, tuple(images), tuple(attach)))) as events:
            async for _ in events:
                pass
        result = self.result
        if result.stop_reason != "model_finished" or result.answer is None:
            why = result.error or f"the run ended: {result.stop_reason or 'the agent was closed'}"
            raise AgentError(why, str(result.stop_reason or ""))
        if returns is None:
            return result.answer
        if result.answer_problem:
            raise AgentError(f"the answer does not fit: {result.answer_problem}", str(result.stop_reason))
        from wisp.tools.shapes import value_of

        return value_of(returns, result.structured)

    async def _events(
        self, prompt: Prompt, left: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[Event, None]:
        host = await self._open()
        if host.running and self._left():  # nobody follows it any more; it is only about to be stopped
            await host.send(Cancel("the caller left"))
            await host.settled()
        ended = False
        async with aclosing(host.events()) as events:
            await self._send(prompt)
            self._left = left
            try:
                async for envelope in events:
                    ended = isinstance(envelope.event, AgentCompleted)
                    yield envelope.event
                    if ended:
                        self._edge.settled()
                        return
            finally:
                if not ended:
                    await host.send(Cancel("the caller left"))
                    await host.settled()

    @property
    def result(self) -> RunView:
        """The last run: its answer, stop reason, turns, usage, cost and denials."""
        return self._host.view.run if self._host is not None else RunView()

    @property
    def session_id(self) -> str:
        """The conversation's id; empty before the first run."""
        return self._host.snapshot().session_id if self._host is not None else ""

    # -- while a run is in progress -----------------------------------------------------------------------

    async def steer(self, text: str) -> None:
        """Say something at the next request boundary of the run in progress.

        Raises:
            AgentError: too much waits already.
        """
        await self._send(Steer(text))

    async def follow_up(self, text: str) -> None:
        """Say something when the run in progress would stop.

        Raises:
            AgentError: too much waits already.
        """
        await self._send(FollowUp(text))

    async def take_back(self, message_id: str = "") -> None:
        """Take a waiting message back: that one, or the newest; `QueueUpdated.removed` has its words.

        Raises:
            AgentError: none waits, or not that one.
        """
        await self._send(QueuePop(message_id))

    async def edit(self, message_id: str, text: str) -> None:
        """Give a waiting message other words.

        Raises:
            AgentError: it does not wait any more.
        """
        await self._send(QueueEdit(message_id, text))

    async def cancel(self) -> None:
        """Stop the run in progress, from any thread; its events go on to their end."""
        if self._host is not None:
            await within(self._loop, self._host.send(Cancel()))

    async def close(self) -> None:
        """Stop what runs and let everything go, from any thread.  The agent opens again on the next run."""
        (host, loop), self._host, self._loop = (self._host, self._loop), None, None
        self._opening = asyncio.Lock()
        if host is not None:
            await within(loop, host.close())

    async def __aenter__(self) -> Agent:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # -- the same without `await` -------------------------------------------------------------------------

    def run_sync(
        self, prompt: str, *, attach: Sequence[str] = (), images: Sequence[Image] = ()
    ) -> Iterator[Event]:
        """`run` for plain code: also where an event loop is running, as in a notebook.

        Callbacks and async tools are called in another thread, where the agent's own loop runs.

        Raises:
            AgentError: as `run`.
        """
        call = self._blocking().call
        events = self.run(prompt, attach=attach, images=images)

        async def next_one() -> Event | None:
            return await anext(events, None)

        try:
            while (event := call(next_one())) is not None:
                yield event
        finally:
            call(events.aclose())

    @overload
    def ask_sync(self, prompt: str, *, attach: Sequence[str] = (), images: Sequence[Image] = ()) -> str: ...

    @overload
    def ask_sync(
        self, prompt: str, *, returns: type[T], attach: Sequence[str] = (), images: Sequence[Image] = ()
    ) -> T: ...

    def ask_sync(
        self,
        prompt: str,
        *,
        returns: Any = None,
        attach: Sequence[str] = (),
        images: Sequence[Image] = (),
    ) -> Any:
        """`ask` for plain code; see `run_sync`.

        Raises:
            AgentError, TypeError: as `ask`.
        """
        return self._blocking().call(self.ask(prompt, returns=returns, attach=attach, images=images))

    def close_sync(self) -> None:
        """`close` for plain code."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.call(self.close())
            thread.close()

    def __enter__(self) -> Agent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_sync()

    def _blocking(self) -> LoopThread:
        with ONE_AT_A_TIME:
            if self._thread is None:
                if self._host is not None:
                    raise AgentError(_ELSEWHERE)
                self._thread = LoopThread()
            return self._thread

    async def _send(self, command: AnyCommand) -> None:
        host = await self._open()
        try:
            await host.send(command)
        except CommandRefused as exc:
            raise AgentError(str(exc)) from None

    async def _open(self) -> SessionHost:
        loop = asyncio.get_running_loop()
        if self._host is None and self._loop in (None, loop):
            self._loop = loop  # taken already while it is being opened
            async with self._opening:
                if self._host is None:
                    await self._opened()
        if self._host is None or self._loop is not loop:
            raise AgentError(_ELSEWHERE)
        return self._host

    async def _opened(self) -> None:
        from wisp.host.build import Overrides, open_host

        overrides = Overrides(
            self._provider,
            self._approver,
            self._questioner,
            self._check,
            self._tools,
            self._instructions,
            prompt=self._prompt,
        )
        try:
            self._host = await open_host(self._request, overrides)
        except OpenFailed as exc:
            self._loop = None
            raise AgentError(str(exc)) from None
        self._check.tell = self._host.tell
