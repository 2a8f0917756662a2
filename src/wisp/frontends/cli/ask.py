"""Asking a person on a plain terminal whether an operation may run.

Shows the whole operation, its end always included.  What was typed before the question stood there is
thrown away; only a fresh `y` means yes.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from wisp.frontends.cli.pasting import LOST, Lines
from wisp.frontends.cli.streams import complain
from wisp.host.client import CommandRefused, HostClient
from wisp.host.commands import Answer, Approve
from wisp.host.events import (
    Event,
    QuestionAnswered,
    QuestionAsked,
    ToolApprovalRequested,
    ToolApprovalResolved,
)
from wisp.host.showing import Shown, named, safe, shown

LONG = 2_000
"""Characters from which on the length of an operation is told, though it has few lines."""
SHORT = 20
"""Lines from which on the length is said first: the beginning may have scrolled away."""

GUARD = 0.2
"""Seconds between a question and the readiness to hear its answer."""


class LineReader:
    """Lines from a descriptor on the event loop, without a thread that could outlive us."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines = Lines()
        self._eof = False
        self._reading = asyncio.Lock()

    async def line(self) -> str | None:
        """The next line without its end; None at the end of input.  Readers take turns."""
        async with self._reading:
            return await self._line()

    async def _line(self) -> str | None:
        while (line := self._lines.take()) is None and not self._eof:
            if not self._lines.pasting:
                await self._fill()
                continue
            try:
                await asyncio.wait_for(self._fill(), LOST)
            except TimeoutError:  # the end of the paste was lost
                return self._lines.take(all_=True)
        return line if line is not None else self._lines.take(all_=True)

    async def _fill(self) -> None:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, readable.set)
        except (PermissionError, ValueError, OSError):
            chunk = os.read(self._descriptor, 65536)  # a regular file is always readable
        else:
            try:
                await readable.wait()
            finally:
                loop.remove_reader(self._descriptor)
            chunk = os.read(self._descriptor, 65536)
        self._lines.feed(chunk)
        self._eof = not chunk

    async def flush(self) -> None:
        """Forget what was typed so far, and on a terminal what is still on its way, as a paste may be."""
        self._lines.clear()
        if os.isatty(self._descriptor):
            await asyncio.sleep(GUARD)
            import termios

            with suppress(termios.error):
                termios.tcflush(self._descriptor, termios.TCIFLUSH)


class Asker:
    """Puts approval requests and questions in plain words."""

    def __init__(self, reader: LineReader) -> None:
        self._reader = reader
        self._asking: dict[str, asyncio.Task[None]] = {}

    @property
    def busy(self) -> bool:
        """Whether it waits for what is typed."""
        return bool(self._asking)

    def watch(self, client: HostClient, event: Event) -> None:
        """Take one event: ask when something is requested, stop asking when it was settled elsewhere."""
        if isinstance(event, ToolApprovalRequested):
            self._asking[event.call_id] = asyncio.ensure_future(self._ask(client, event))
        elif isinstance(event, QuestionAsked):
            self._asking[event.question_id] = asyncio.ensure_future(self._put(client, event))
        elif isinstance(event, ToolApprovalResolved | QuestionAnswered):
            name = event.call_id if isinstance(event, ToolApprovalResolved) else event.question_id
            task = self._asking.pop(name, None)
            if task is not None:
                task.cancel()

    async def _put(self, client: HostClient, asked: QuestionAsked) -> None:
        """A question with its options numbered; a number, the words, or how only they begin, is an answer."""
        rows = [f"  {number}. {named(option)}" for number, option in enumerate(asked.options, 1)]
        complain(safe("\n".join(["", shown(asked.text), *rows])))
        await self._reader.flush()
        while True:
            complain(safe("Answer: "), end="", flush=True)
            line = await self._reader.line()
            said = (line or "").strip()
            if said.isdecimal() and 0 < int(said) <= len(asked.options):
                said = asked.options[int(said) - 1]
            elif line is None and asked.options:
                said = asked.options[-1]
            elif said and len(fits := [one for one in asked.options if one.startswith(said.lower())]) == 1:
                said = fits[0]
            try:
                await client.send(Answer(asked.question_id, said))
                return
            except CommandRefused as exc:
                if line is None or not self.busy:
                    return
                complain(named(str(exc)))

    async def _ask(self, client: HostClient, request: ToolApprovalRequested) -> None:
        complain(question(request))
        choices = "[y]es once, [s]ession, [n]o" if request.session_rule else "[y]es once, [n]o"
        await self._reader.flush()
        complain(safe(f"Allow? {choices}, or a reason for no: "), end="", flush=True)
        said = (await self._reader.line() or "n").strip()
        low = said.lower()
        session = low in ("s", "session") and bool(request.session_rule)
        approved = session or low in ("y", "yes")
        reason = "" if approved or low in ("n", "no", "") else said
        answer = Approve(request.call_id, request.digest, approved, "session" if session else "once", reason)
        with suppress(CommandRefused):  # settled meanwhile: cancelled, or answered elsewhere
            await client.send(answer)


def question(request: ToolApprovalRequested) -> Shown:
    """The whole operation as text for a terminal."""
    lines = shown(request.preview).split("\n")
    length = f", {len(lines)} lines" if len(lines) > SHORT else ""
    if not length and len(request.preview) > LONG:
        length = f", {len(request.preview):,} characters"
    body = "\n".join("  " + line for line in lines)
    rule = f"\n(session: would allow {named(request.session_rule)})" if request.session_rule else ""
    return safe(f"\nAllow this {named(request.name)}? ({named(request.reason)}{length})\n{body}{rule}")
