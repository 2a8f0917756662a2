"""`wisp -p --input-format stream-json`: prompts and commands one JSON object a line, answers likewise.

Lines are commands of the host by their types (`{"type": "prompt", "text": "..."}`), or user messages and
control requests in the form that Claude Code's scripts use.  Nobody is asked anything: each run is headless.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing, suppress
from typing import Any

import msgspec

from wisp.frontends.cli.ask import LineReader
from wisp.frontends.cli.exitcodes import BROKEN_PIPE, USAGE, Verdict, verdict
from wisp.frontends.cli.print import Stopper, StreamOutput, write_json
from wisp.frontends.cli.streams import quiet_stdout
from wisp.host.client import CommandRefused, HostClient
from wisp.host.commands import AnyCommand, Cancel, Configure, Prompt
from wisp.host.events import AgentCompleted
from wisp.host.mentions import mentions
from wisp.host.view import RunView, View, reduce
from wisp.messages.content import Image

_COMMAND: Any = AnyCommand


class BadLine(Exception):
    """A line that says nothing that can be done."""


class Session:
    """One process's runs, one after another."""

    def __init__(self, client: HostClient, stopper: Stopper) -> None:
        self._client = client
        self._stopper = stopper
        self._output = StreamOutput()
        self._waiting: deque[Prompt] = deque()
        self._changed = asyncio.Event()
        self._ended = False
        self._code = USAGE

    async def run(self, reader: LineReader, first: Prompt | None) -> int:
        """Until the input ends and everything that was asked for is done; the last run's exit code."""
        try:
            self._output.begin(self._client)
            if first is not None:
                self._waiting.append(first)
            reading = asyncio.ensure_future(self._read(reader))
            try:
                await self._serve()
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
        except BrokenPipeError:
            quiet_stdout()
            await self._client.send(Cancel("nobody reads the output any more"))
            return BROKEN_PIPE
        return self._code

    async def _serve(self) -> None:
        while not self._stopper.reason:
            if self._waiting:
                await self._one(self._waiting.popleft())
            elif self._ended:
                self._stopper.done()
                self._without_a_run()
                return
            else:
                self._changed.clear()
                await self._woken()
        self._stopper.done()
        if self._code != self._stopper.code:  # the signal came between two runs
            run = RunView(stop_reason="cancelled", error=self._stopper.reason)
            judged = verdict(run, headless=True, signal_code=self._stopper.code)
            self._output.end(self._client, run, judged)
            self._code = judged.exit_code

    def _without_a_run(self) -> None:
        if self._code == USAGE:
            run = RunView(error="no prompt came before the end of the input")
            self._output.end(self._client, run, Verdict("error_during_execution", USAGE, "error"))

    async def _woken(self) -> None:
        """Until something was read, or a signal came."""
        waiting = [asyncio.ensure_future(event.wait()) for event in (self._changed, self._stopper.stopping)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for one in waiting:
            one.cancel()

    async def _one(self, prompt: Prompt) -> None:
        view = View()
        async with aclosing(self._client.events()) as events:
            try:
                await self._client.send(prompt)
            except CommandRefused as exc:
                self._refused(str(exc))
                return
            self._stopper.attach(self._client)
            async for envelope in events:
                reduce(view, envelope)
                self._output.event(envelope)
                if isinstance(envelope.event, AgentCompleted):
                    break
        judged = verdict(view.run, headless=True, signal_code=self._stopper.code)
        self._output.end(self._client, view.run, judged)
        self._code = judged.exit_code

    async def _read(self, reader: LineReader) -> None:
        while (line := await reader.line()) is not None:
            if line.strip():
                try:
                    await self._take(msgspec.json.decode(line))
                except (BadLine, CommandRefused) as exc:
                    self._refused(str(exc))
                except (msgspec.MsgspecError, RecursionError) as exc:
                    self._refused(f"this line is no command: {exc}")
            self._changed.set()
        self._ended = True
        self._changed.set()

    async def _take(self, line: Any) -> None:
        kind = line.get("type") if isinstance(line, dict) else None
        if kind == "user":
            self._waiting.append(_prompt(line))
        elif kind == "control_request":
            await self._control(line)
        else:
            command = msgspec.convert(line, _COMMAND)
            if isinstance(command, Prompt):
                self._waiting.append(command)
            else:
                await self._client.send(command)

    async def _control(self, line: dict[str, Any]) -> None:
        request = line.get("request")
        wanted = request if isinstance(request, dict) else {}
        answer: dict[str, Any] = {"subtype": "success", "request_id": line.get("request_id")}
        try:
            if wanted.get("subtype") == "interrupt":
                await self._client.send(Cancel())
            elif wanted.get("subtype") == "set_permission_mode":
                await self._client.send(Configure(permission_mode=str(wanted.get("mode"))))
            else:
                raise CommandRefused(f"there is no control request {wanted.get('subtype')!r}")
        except CommandRefused as exc:
            answer |= {"subtype": "error", "error": str(exc)}
        write_json({"type": "control_response", "response": answer})

    @staticmethod
    def _refused(why: str) -> None:
        with suppress(OSError):
            write_json({"type": "input.refused", "message": why})


def _prompt(line: dict[str, Any]) -> Prompt:
    """A user message as the Messages API has it."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return Prompt(content, mentioned=mentions(content))
    words: list[str] = []
    pictures: list[Image] = []
    for part in content if isinstance(content, list) else []:
        kind = part.get("type") if isinstance(part, dict) else None
        source = part.get("source") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            words.append(part["text"])
        elif kind == "image" and isinstance(source, dict) and source.get("type") == "base64":
            pictures.append(Image(str(source.get("media_type")), str(source.get("data"))))
        else:
            raise BadLine(f"a part of kind {kind!r} cannot be taken")
    if not words and not pictures:
        raise BadLine("a user message needs a content")
    return Prompt("\n\n".join(words), tuple(pictures))
