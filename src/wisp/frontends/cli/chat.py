"""`wisp chat --plain`: a conversation line by line, for dumb terminals, screen readers, SSH and pipes."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from contextlib import aclosing, suppress

from wisp.frontends.cli.ask import Asker, LineReader
from wisp.frontends.cli.exitcodes import INTERRUPTED, OK, verdict
from wisp.frontends.cli.print import TextOutput, explain
from wisp.frontends.cli.terminal import is_terminal, safe
from wisp.host.client import CommandRefused, HostClient
from wisp.host.commands import Cancel, Compact, Configure, Name, Navigate, Prompt, UndoNavigation
from wisp.host.events import (
    AgentCompleted,
    MessageDelta,
)
from wisp.host.view import View, reduce

HELP = """\
/help                 this list
/compact [WISH]       shorten the conversation before the next message
/tree [go N [summary] | back]
                         show the messages with their branches; go on from another one; take that back
/name NAME            give the conversation a name
/permissions [MODE]   show or set the permission mode: read-only, plan, ask, auto, full
/quit                 leave (also Ctrl+D, or Ctrl+C twice)
Anything else is a message to the model.  Ctrl+C stops the run in progress."""


class PlainChat:
    """One conversation on one pair of streams."""

    def __init__(self, client: HostClient) -> None:
        self._client = client
        self._reader = LineReader(sys.stdin.fileno())
        self._asker = Asker(self._reader)
        self._output = TextOutput()
        self._view = View()
        self._done: asyncio.Event = asyncio.Event()
        self._last_interrupt = 0.0
        self._running = False
        self._leave = asyncio.Event()

    async def run(self, first: str = "") -> int:
        """Converse until the person leaves; returns the exit code."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave.set)
        self._output.begin(self._client)
        snapshot = self._client.snapshot()
        print(
            safe(
                f"wisp: {snapshot.provider}/{snapshot.model} in {snapshot.cwd}, "
                f"{snapshot.permission_mode} mode, sandbox: {snapshot.sandbox}. /help for help."
            ),
            flush=True,
        )
        watching = asyncio.ensure_future(self._watch())
        await asyncio.sleep(0)
        try:
            return await self._converse(first)
        finally:
            watching.cancel()

    async def _converse(self, first: str) -> int:
        text: str | None = first
        while True:
            if not text:
                print("> ", end="", flush=True)
                text = await self._next_line()
                if text is None:
                    print(flush=True)
                    return INTERRUPTED if self._leave.is_set() else OK
                text = text.strip()
            if text in ("/quit", "/exit", ":q"):
                return OK
            if text.startswith("/") and not text.startswith("//"):
                await self._slash(text)
            elif text:
                await self._send(text)
            text = ""

    async def _next_line(self) -> str | None:
        reading = asyncio.ensure_future(self._reader.line())
        leaving = asyncio.ensure_future(self._leave.wait())
        await asyncio.wait([reading, leaving], return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if reading.done():
            return reading.result()
        reading.cancel()
        return None

    async def _send(self, text: str) -> None:
        self._done.clear()
        self._running = True
        try:
            await self._client.send(Prompt(text))
            await self._done.wait()
        except CommandRefused as exc:
            print(safe(str(exc)), flush=True)
        finally:
            self._running = False

    async def _slash(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name == "/help":
            print(HELP, flush=True)
        elif name == "/compact":
            await self._client.send(Compact(rest.strip()))
            print("the conversation will be shortened before your next message", flush=True)
        elif name == "/name":
            await self._client.send(Name(rest.strip()))
        elif name == "/tree":
            await self._tree(rest.split())
        elif name == "/permissions":
            if rest.strip():
                try:
                    await self._client.send(Configure(permission_mode=rest.strip()))
                except CommandRefused as exc:
                    print(safe(str(exc)), flush=True)
                    return
            print(f"permission mode: {self._client.snapshot().permission_mode}", flush=True)
        else:
            print(f"there is no command {safe(name)}; /help lists them", flush=True)

    async def _tree(self, words: list[str]) -> None:
        from wisp.frontends.cli.sessions import print_tree
        from wisp.host.store import tree_of

        try:
            if words[:1] == ["go"] and len(words) >= 2:
                await self._client.send(Navigate(words[1], summarise="summary" in words[2:]))
            elif words == ["back"]:
                await self._client.send(UndoNavigation())
            path = self._client.snapshot().session_path
            if path:
                print_tree(tree_of(path))
            else:
                print("this conversation is not kept", flush=True)
        except CommandRefused as exc:
            print(safe(str(exc)), flush=True)

    async def _watch(self) -> None:
        live = is_terminal(sys.stdout)
        async with aclosing(self._client.events()) as events:
            async for envelope in events:
                event = envelope.event
                reduce(self._view, envelope)
                if isinstance(event, MessageDelta) and not live and event.content_kind == "text":
                    sys.stdout.write(safe(event.delta))
                    sys.stdout.flush()
                self._output.event(envelope)
                self._asker.watch(self._client, event)
                if isinstance(event, AgentCompleted):
                    judged = verdict(self._view.run, headless=False)
                    print(flush=True)
                    if judged.is_error:
                        stopped = judged.subtype == "cancelled"
                        why = "stopped" if stopped else explain(self._view.run, judged)
                        print(safe(f"[{why}]"), flush=True)
                    self._done.set()

    def _interrupt(self) -> None:
        now = time.monotonic()
        twice = now - self._last_interrupt < 2.0
        self._last_interrupt = now
        if self._running and not twice:
            with suppress(CommandRefused):
                self._cancelling = asyncio.ensure_future(self._client.send(Cancel()))
            print("\n[stopping; Ctrl+C again to leave]", flush=True)
        elif twice:
            self._leave.set()
            self._done.set()
        else:
            print("\n[Ctrl+C again to leave]", flush=True)
