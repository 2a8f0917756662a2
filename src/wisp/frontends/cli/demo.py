"""`wisp demo`: a bug found, fixed and tested before your eyes, without a key or a network."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
from contextlib import aclosing, suppress
from typing import Protocol

from wisp.frontends.cli.exitcodes import FAILED, OK
from wisp.frontends.cli.streams import complain, say
from wisp.host.client import HostClient
from wisp.host.commands import Cancel, Prompt
from wisp.host.events import (
    AgentCompleted,
    ErrorReported,
    Event,
    MessageCompleted,
    ToolCalled,
    ToolExecutionEnded,
)
from wisp.host.showing import named, safe, trimmed


class DemoLike(Protocol):
    """What `host.demo.open_demo` returns."""

    @property
    def host(self) -> HostClient: ...
    @property
    def project(self) -> str: ...
    @property
    def prompt(self) -> str: ...


class Opener(Protocol):
    """`host.demo.open_demo`."""

    def __call__(self, folder: str, *, deny_edits: bool) -> DemoLike: ...


def run_demo(opener: Opener, *, deny_edits: bool) -> int:
    """Show it; returns 0 when the demonstration went as it should."""
    folder = tempfile.mkdtemp(prefix="wisp-demo-")
    try:
        return asyncio.run(_run(opener, folder, deny_edits))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(opener: Opener, folder: str, deny_edits: bool) -> int:
    demo = opener(folder, deny_edits=deny_edits)
    say(safe(f"user: {demo.prompt}"))
    client, reason, diff = demo.host, "", ""
    stopping: list[asyncio.Task[None]] = []
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with suppress(NotImplementedError, ValueError):
            loop.add_signal_handler(number, lambda: stopping.append(loop.create_task(client.send(Cancel()))))
    try:
        async with aclosing(client.events()) as events:
            await client.send(Prompt(demo.prompt))
            async for envelope in events:
                event = envelope.event
                _show(event)
                if isinstance(event, ToolExecutionEnded) and event.name == "edit" and not event.is_error:
                    diff = str(event.details.get("diff", ""))
                if isinstance(event, AgentCompleted):
                    reason = event.stop_reason
                    break
    finally:
        await client.close()
    say(safe(f"stopped: {reason}"))
    if diff:
        say(safe(f"\nwhat changed:\n{trimmed(safe(diff))}"))
    with open(os.path.join(demo.project, "calculator.py"), encoding="utf-8") as file:
        source = file.read()
    say(safe("\ncalculator.py is now:\n" + source.rstrip()))
    repaired = "return a + b" in source
    if reason == "cancelled":
        return 130
    if reason != "model_finished" or repaired == deny_edits:
        complain(safe("wisp: the demonstration did not go as it should"))
        return FAILED
    return OK


def _show(event: Event) -> None:
    if isinstance(event, MessageCompleted):
        say(safe(f"turn {event.turn}: {event.message.text}"), flush=True)
    elif isinstance(event, ToolCalled):
        say(safe(f"call {named(event.call_id)}: {event.name} {event.arguments}"), flush=True)
    elif isinstance(event, ToolExecutionEnded):
        body = trimmed(safe(event.output)).replace("\n", "\n    ")
        say(safe(f"result {named(event.call_id)}: {body}"), flush=True)
    elif isinstance(event, ErrorReported):
        complain(safe(f"error: {event.message}"), flush=True)
