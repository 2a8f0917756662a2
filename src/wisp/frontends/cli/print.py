"""`wisp -p`: one prompt, progress on stderr, the answer on stdout, an exit code that does not lie."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from signal import Signals
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from wisp.frontends.cli import signals
from wisp.frontends.cli.ask import Asker
from wisp.frontends.cli.exitcodes import BROKEN_PIPE, INTERRUPTED, Verdict, verdict
from wisp.frontends.cli.result import result_object
from wisp.frontends.cli.streams import OutputFailed, complain, hand_over, put, quiet_stdout
from wisp.frontends.cli.terminal import is_terminal
from wisp.host.client import HostClient
from wisp.host.commands import Cancel, Prompt
from wisp.host.events import (
    AgentCompleted,
    CompactionCompleted,
    Envelope,
    ErrorReported,
    MessageCompleted,
    MessageDelta,
    MessageWithdrawn,
    PlanSaved,
    ProviderRetrying,
    ProviderSwitched,
    RepairReported,
    ToolExecutionEnded,
    ToolExecutionStarted,
    wire,
)
from wisp.host.showing import Shown, flat, inert, one_line, safe
from wisp.host.view import RunView, View, reduce
from wisp.messages.ids import iso

if TYPE_CHECKING:
    from wisp.frontends.cli.flow import Flow


class Output(Protocol):
    """Where a headless run is told."""

    def begin(self, client: HostClient) -> None:
        """Before the first event."""
        ...

    def event(self, envelope: Envelope) -> None:
        """One event."""
        ...

    def end(self, client: HostClient, run: RunView, judged: Verdict) -> None:
        """After the last event."""
        ...


class Stopper:
    """Signals as a request to stop, from the first moment of a run to its last.

    `code` is what the process should end with once a signal came.
    """

    def __init__(self) -> None:
        self.code = INTERRUPTED
        self.reason = ""
        self.stopping = asyncio.Event()
        """Set with the first signal."""
        self._client: HostClient | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()
        with suppress(ValueError):  # not the main thread, which alone has signals
            signals.take(self._told)
        for number in signals.came:
            self._stop(number)

    def attach(self, client: HostClient) -> None:
        """From here on a signal cancels the run of `client`."""
        self._client = client

    def done(self) -> None:
        """The outcome is about to be told: a signal changes nothing any more, until the process is gone."""
        with suppress(ValueError):
            signals.ignore()

    def _told(self, number: Signals) -> None:
        self._loop.call_soon_threadsafe(self._stop, number)

    def _stop(self, number: Signals) -> None:
        if not self.reason:
            self.code, self.reason = signals.CODES[number], signals.why(number)
            self.stopping.set()
        if self._client is not None:
            self._tasks.append(asyncio.ensure_future(self._client.send(Cancel(self.reason))))


async def run_prompt(
    client: HostClient, prompt: Prompt, output: Output, stopper: Stopper, *, asker: Asker | None
) -> int:
    """Run `prompt` to its end and return the exit code.  Signals stop the run and settle it first.

    Without an `asker` the run is headless: a run in which nothing was allowed counts as refused.
    """
    view = View()
    try:
        output.begin(client)
        async with aclosing(client.events()) as events:
            await client.send(prompt)
            stopper.attach(client)
            if stopper.reason:
                await client.send(Cancel(stopper.reason))
            async for envelope in events:
                reduce(view, envelope)
                output.event(envelope)
                if asker is not None:
                    asker.watch(client, envelope.event)
                if isinstance(envelope.event, AgentCompleted):
                    break
        stopper.done()
        judged = verdict(view.run, headless=asker is None, signal_code=stopper.code)
        output.end(client, view.run, judged)
        with suppress(ValueError):  # not the main thread, which alone has signals
            signals.told(judged.exit_code)
        return judged.exit_code
    except BrokenPipeError:
        quiet_stdout()
        await client.send(Cancel("nobody reads the output any more"))
        return BROKEN_PIPE
    except OutputFailed as exc:
        await client.send(Cancel(str(exc)))
        raise


class TextOutput:
    """The answer on stdout, what happens meanwhile on stderr.

    Args:
        styled: on a terminal, Markdown is shown as what it means; else it stays as it was written.
    """

    def __init__(self, *, styled: bool = False) -> None:
        self._live = is_terminal(sys.stdout)
        self._flow: Flow | None = None
        if styled and self._live:
            from wisp.frontends.cli.flow import Flow

            self._flow = Flow(_columns())
        self._line_open = False

    @property
    def line_open(self) -> bool:
        """Whether the last line on the terminal is not whole."""
        return self._line_open

    def begin(self, client: HostClient) -> None:
        """Say what a person should know beforehand."""
        for note in client.snapshot().notes:
            self._note(flat(note))

    def event(self, envelope: Envelope) -> None:
        """Show one event."""
        event = envelope.event
        if isinstance(event, MessageDelta):
            if self._live and event.content_kind == "text":
                self._say(self._flow.feed(safe(event.delta)) if self._flow else safe(event.delta))
        elif isinstance(event, MessageCompleted):
            if self._flow:
                self._say(self._flow.close())
        elif isinstance(event, ToolExecutionEnded):
            self._note(_ended(event))
        elif isinstance(event, ToolExecutionStarted):
            self._close_line()
        elif isinstance(event, ProviderRetrying):
            self._note(
                f"{event.reason}; trying again in {event.delay_seconds:.1f} s "
                f"(attempt {event.attempt} of {event.max_attempts})"
            )
        elif isinstance(event, ProviderSwitched):
            self._note(f"{event.reason}; {event.provider}/{event.model} answers instead")
        elif isinstance(event, MessageWithdrawn):
            self._note(f"the answer above was cut off ({event.reason}) and does not count")
        elif isinstance(event, RepairReported):
            for message in event.messages:
                self._note(f"repaired: {message}")
        elif isinstance(event, PlanSaved):
            self._note(f"the plan is in {event.path}")
        elif isinstance(event, ErrorReported):
            self._note(event.message)
        elif isinstance(event, CompactionCompleted) and event.outcome == "completed":
            before, after = f"{event.tokens_before:,}", f"{event.tokens_after:,}"
            self._note(f"the conversation was shortened to fit: about {before} to {after} tokens")

    def end(self, client: HostClient, run: RunView, judged: Verdict) -> None:
        """Print the answer, or say why there is none."""
        del client
        if self._live:
            self._close_line()
        elif run.answer:
            answer = inert(run.answer)
            put(answer if answer.endswith("\n") else inert(f"{answer}\n"))
        if judged.is_error:
            self._note(f"wisp: {explain(run, judged)}")
        elif run.cut:
            self._note(f"wisp: {run.cut}")

    def _note(self, text: str) -> None:
        self._close_line()
        with suppress(OSError, ValueError):
            complain(safe(text), flush=True)

    def _say(self, text: Shown) -> None:
        if text:
            put(text)
            self._line_open = not text.endswith("\n")

    def _close_line(self) -> None:
        if self._flow:
            self._say(self._flow.close())
        if self._line_open:
            self._line_open = False
            put(safe("\n"))


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _ended(event: ToolExecutionEnded) -> Shown:
    mark = "x" if event.is_error else "-"
    said = event.summary or event.name
    tail = f": {one_line(event.output)}" if event.is_error else ""
    return safe(f"{mark} {one_line(said)}{tail}")


def explain(run: RunView, judged: Verdict) -> str:
    """One sentence: what ended the run and what to do."""
    if judged.subtype == "error_max_turns":
        return f"{run.error}; raise --max-turns or continue with --continue"
    if judged.subtype == "error_max_time":
        return "the time of --max-time is used up; continue with --continue"
    if judged.subtype in ("error_max_cost", "error_max_tokens"):
        return f"{run.error}; continue with --continue and a higher limit"
    if judged.subtype == "refused" and run.denials:
        return (
            "what the model wanted to do was not allowed; allow it with --allow RULE, "
            "or choose another --permission-mode"
        )
    if judged.subtype == "error_schema":
        return f"the answer does not fit the schema: {run.answer_problem}"
    if judged.subtype == "cancelled":
        return "stopped; continue with --continue"
    return run.error or "the run failed"


class JsonOutput:
    """One result object on stdout at the end; nothing else there."""

    def begin(self, client: HostClient) -> None:
        """Say on stderr what a person should know beforehand: the object has no place for it."""
        for note in client.snapshot().notes:
            with suppress(OSError, ValueError):
                complain(flat(note), flush=True)

    def event(self, envelope: Envelope) -> None:
        """Nothing."""

    def end(self, client: HostClient, run: RunView, judged: Verdict) -> None:
        """Print the object."""
        write_json(result_object(client.snapshot(), run, judged))


class StreamOutput:
    """One event a line, then the result object."""

    def __init__(self, write: Callable[[dict[str, Any]], None] | None = None) -> None:
        self._write = write or write_json

    def begin(self, client: HostClient) -> None:
        """The `init` line."""
        snapshot = client.snapshot()
        self._write(
            {
                "type": "system",
                "subtype": "init",
                "session_id": snapshot.session_id,
                "model": snapshot.model,
                "provider": snapshot.provider,
                "tools": snapshot.tools,
                "cwd": snapshot.cwd,
                "permission_mode": snapshot.permission_mode,
                "sandbox": snapshot.sandbox,
                "mcp_servers": [msgspec.to_builtins(server) for server in snapshot.mcp_servers],
                "skills": snapshot.skills,
                "instructions": [msgspec.to_builtins(item) for item in snapshot.instructions],
                "notes": snapshot.notes,
            }
        )

    def event(self, envelope: Envelope) -> None:
        """The event's line."""
        self._write(wire(envelope, iso(envelope.at)))

    def end(self, client: HostClient, run: RunView, judged: Verdict) -> None:
        """The result object."""
        self._write(result_object(client.snapshot(), run, judged))


def write_json(value: dict[str, Any]) -> None:
    """One line of ASCII-only JSON on stdout, flushed: no byte of it can act on a terminal or a locale."""
    from wisp.messages.codec import ascii_json

    hand_over(ascii_json(value).decode("ascii").replace("\x7f", "\\u007f") + "\n")
