"""`wisp chat --plain`: a conversation line by line, for dumb terminals, screen readers, SSH and pipes."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Coroutine
from contextlib import aclosing, suppress
from typing import Any

from wisp.frontends.cli.ask import Asker, LineReader
from wisp.frontends.cli.exitcodes import INTERRUPTED, OK, verdict
from wisp.frontends.cli.pasting import pastes_marked
from wisp.frontends.cli.print import TextOutput, explain
from wisp.frontends.cli.streams import complain, copy, say
from wisp.frontends.cli.terminal import is_terminal
from wisp.host.client import CommandRefused, ConversationClient
from wisp.host.commands import Cancel, Prompt, Shell, Steer
from wisp.host.events import (
    AgentCompleted,
    Event,
    MessageDelta,
    ProcessEnded,
    QuestionAnswered,
    QuestionAsked,
    QueueMessageInjected,
    ShellEnded,
    ToolApprovalRequested,
    ToolApprovalResolved,
)
from wisp.host.mentions import mentions
from wisp.host.showing import named, one_line, safe
from wisp.host.view import View, reduce

_QUESTIONS = (ToolApprovalRequested, ToolApprovalResolved, QuestionAsked, QuestionAnswered)


class PlainChat:
    """One conversation on one pair of streams."""

    def __init__(self, client: ConversationClient) -> None:
        self._client = client
        self._reader = LineReader(sys.stdin.fileno())
        self._asker = Asker(self._reader)
        self._output = TextOutput()
        self._view = View()
        self._done: asyncio.Event = asyncio.Event()
        self._last_interrupt = 0.0
        self._running = False
        self._leave = asyncio.Event()
        self._quitting = False
        self._changed = asyncio.Event()
        """Who may read what is typed has changed, or the run is over."""

    async def run(self, first: str = "") -> int:
        """Converse until the person leaves; returns the exit code."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave.set)
        self._output.begin(self._client)
        snapshot = self._client.snapshot()
        say(
            safe(
                f"wisp: {snapshot.provider}/{snapshot.model} in {snapshot.cwd}, "
                f"{snapshot.permission_mode} mode, sandbox: {snapshot.sandbox}. /help for help."
            ),
            flush=True,
        )
        watching = asyncio.ensure_future(self._watch())
        await asyncio.sleep(0)
        try:
            with pastes_marked(sys.stdin.fileno()):
                return await self._converse(first)
        finally:
            watching.cancel()

    async def _converse(self, first: str) -> int:
        text: str | None = first
        while True:
            if not text:
                say(safe("> "), end="", flush=True)
                text = await self._next_line()
                if text is None:
                    say(safe(""), flush=True)
                    return INTERRUPTED if self._leave.is_set() and not self._quitting else OK
                text = text.strip()
            if text in (":q", "/exit"):
                return OK
            if text and await self._said(text):
                return OK
            text = ""

    async def _said(self, text: str) -> bool:
        """Do what a line says while no run is in progress; whether the person leaves."""
        if text.startswith("!"):
            await self._during(self._client.send(_own_command(text)))
            return False
        if not text.startswith("/") or text.startswith("//"):
            await self._during(self._client.send(Prompt(text, mentioned=mentions(text))))
            return False
        return await self._during(self._slash(text))

    async def _during(self, start: Coroutine[Any, Any, bool | None]) -> bool:
        """Start something, and where that was a run, listen to the person until it is over."""
        self._done.clear()
        self._running = True
        try:
            leave = await start
            if leave is not None:  # a command that started no run
                return leave
            await self._listen()
            self._say_what_waits()
        except CommandRefused as exc:
            say(safe(str(exc)), flush=True)
        finally:
            self._running = False
        return False

    async def _listen(self) -> None:
        """Until the run is over: what is typed steers it, a line with a slash is a command.

        Lines from a pipe wait for their turn instead: whoever wrote them did not see the run.
        """
        typing = is_terminal(sys.stdin)
        while not self._done.is_set():
            self._changed.clear()
            waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._changed.wait())]
            if typing and not self._asker.busy:
                waiting.append(asyncio.ensure_future(self._reader.line()))
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for one in waiting:
                one.cancel()
            results = await asyncio.gather(*waiting, return_exceptions=True)
            line = results[1] if len(results) > 1 else ""
            typing = typing and line is not None
            if isinstance(line, str) and line.strip():
                await self._interject(line.strip())

    async def _interject(self, line: str) -> None:
        """A line that was typed while a run is in progress."""
        try:
            if line.startswith("/") and not line.startswith("//"):
                if await self._slash(line):
                    self._quitting = True
                    self._interrupt_for_good()
            elif line.startswith("!"):
                await self._client.send(_own_command(line))
            else:
                await self._client.send(Steer(line))
                say(safe("[it will be said before the next request; /queue shows what waits]"), flush=True)
        except CommandRefused as exc:
            say(safe(str(exc)), flush=True)

    async def _slash(self, line: str) -> bool | None:
        """Do a command; whether the person leaves, None when it started a run."""
        reply = await self._client.slash(line)
        if reply.text:
            say(safe(reply.text), flush=True)
        if reply.copy:
            self._copy(reply.copy)
        return None if reply.started else reply.leave

    @staticmethod
    def _copy(text: str) -> None:
        """To the clipboard by the terminal (OSC 52), which may be far away; to a pipe as it is."""
        if not is_terminal(sys.stdout):
            say(safe(text), flush=True)
            return
        copy(safe(text))
        say(safe("[copied, if your terminal allows it]"), flush=True)

    def _say_what_waits(self) -> None:
        waiting = self._view.waiting_messages
        if waiting:
            say(
                safe(f"[{waiting} waiting: said with your next message; /queue shows or changes them]"),
                flush=True,
            )

    async def _next_line(self) -> str | None:
        reading = asyncio.ensure_future(self._reader.line())
        leaving = asyncio.ensure_future(self._leave.wait())
        await asyncio.wait([reading, leaving], return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if reading.done():
            return reading.result()
        reading.cancel()
        return None

    async def _watch(self) -> None:
        live = is_terminal(sys.stdout)
        async with aclosing(self._client.events()) as events:
            async for envelope in events:
                event = envelope.event
                reduce(self._view, envelope)
                if isinstance(event, MessageDelta) and not live and event.content_kind == "text":
                    say(safe(event.delta), end="", flush=True)
                self._output.event(envelope)
                self._asker.watch(self._client, event)
                self._tell(event)
                if isinstance(event, AgentCompleted):
                    judged = verdict(self._view.run, headless=False)
                    say(safe(""), flush=True)
                    if judged.is_error:
                        stopped = judged.subtype == "cancelled"
                        why = "stopped" if stopped else explain(self._view.run, judged)
                        say(safe(f"[{why}]"), flush=True)
                    elif self._view.run.cut:
                        say(safe(f"[{self._view.run.cut}]"), flush=True)
                    self._done.set()
                    self._changed.set()

    def _tell(self, event: Event) -> None:
        if isinstance(event, ShellEnded):
            after = "[the model is told of it with your next message]" if event.told else ""
            say(safe("\n".join(part for part in (safe(event.output), after) if part)), flush=True)
            self._done.set()
            self._changed.set()
        if isinstance(event, _QUESTIONS):
            self._changed.set()
        elif isinstance(event, QueueMessageInjected):
            who = "the model is told" if event.kind == "notice" else "said now"
            complain(safe(f"[{who}: {one_line(event.message.text, 100)}]"), flush=True)
        elif isinstance(event, ProcessEnded):
            how = "was stopped" if event.exit_code is None else f"ended with exit code {event.exit_code}"
            complain(safe(f"[{named(event.id)} {how}: {one_line(event.command, 60)}]"), flush=True)

    def _interrupt_for_good(self) -> None:
        self._leave.set()
        self._done.set()
        self._changed.set()

    def _interrupt(self) -> None:
        now = time.monotonic()
        twice = now - self._last_interrupt < 2.0
        self._last_interrupt = now
        if self._running and not twice:
            with suppress(CommandRefused):
                self._cancelling = asyncio.ensure_future(self._client.send(Cancel()))
            say(safe("\n[stopping; Ctrl+C again to leave]"), flush=True)
        elif twice:
            self._interrupt_for_good()
        else:
            say(safe("\n[Ctrl+C again to leave]"), flush=True)


def _own_command(line: str) -> Shell:
    """What follows `!`, which the model is told of, or `!!`, which it is not."""
    told = not line.startswith("!!")
    return Shell(line[1 if told else 2 :].strip(), told)
