"""A run or a plain conversation, from its command line to its exit code."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence

from wisp.frontends.cli import signals
from wisp.frontends.cli.exitcodes import CONFIGURATION, FAILED, OK, USAGE, Verdict
from wisp.frontends.cli.invocation import Invocation
from wisp.frontends.cli.streams import complain, say
from wisp.frontends.cli.terminal import is_terminal
from wisp.host.client import CommandRefused, ConversationClient, HostClient, OpenFailed, OpenRequest
from wisp.host.commands import Prompt
from wisp.host.mentions import mentions
from wisp.host.showing import flat, named, safe, trimmed
from wisp.host.view import RunView

Opener = Callable[[OpenRequest, asyncio.Event], Awaitable[HostClient]]
"""Builds a host; raises `OpenFailed`.  Once the event is set it waits for nobody any more."""


Converser = Callable[[OpenRequest], Awaitable[ConversationClient]]
"""The same for a conversation."""


def run(invocation: Invocation, opener: Opener, converser: Converser) -> int:
    """Do what `invocation` says; returns the exit code."""
    interactive = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    if invocation.command == "run" and not invocation.headless and not interactive:
        if invocation.prompt is None:
            from wisp.frontends.cli.args import help_text

            say(safe(help_text()), end="")
            return USAGE
        complain(safe("wisp: a conversation needs a terminal; use -p for one run"))
        return USAGE
    if not invocation.headless:
        return asyncio.run(_chat(invocation, converser))
    if invocation.lines:
        first = invocation.prompt
        told = Prompt(first, mentioned=mentions(first)) if first else None
        return asyncio.run(_by_lines(invocation, told, opener))
    # Standard input is read before the event loop runs, so that a signal ends a read that never ends.
    from wisp.frontends.cli.streams import NoInput, piped_text

    try:
        with signals.interruptible():
            piped = piped_text(needed=invocation.prompt_from_stdin)
    except NoInput as exc:
        return failed(str(exc), USAGE, invocation.form)
    except signals.Ended as exc:
        signals.ignore()
        return failed(f"{exc}, before anything ran", exc.code, invocation.form)
    prompt = "\n\n".join(part for part in (invocation.prompt, piped) if part and part.strip())
    if not prompt:
        return failed("the prompt is empty", USAGE, invocation.form)
    told = Prompt(prompt, mentioned=mentions(invocation.prompt or ""))
    return asyncio.run(_headless(invocation, told, opener))


async def _chat(invocation: Invocation, converser: Converser) -> int:
    from wisp.frontends.cli.chat import PlainChat

    try:
        client = await converser(request_of(invocation, interactive=True, converses=True))
    except OpenFailed as exc:
        complain(safe(f"wisp: {exc!s}"))
        return exc.exit_code
    try:
        return await PlainChat(client).run(invocation.prompt or "")
    finally:
        await client.close()


def print_instructions(
    invocation: Invocation,
    assemble: Callable[[OpenRequest], tuple[Sequence[tuple[str, str, int]], Sequence[str]]],
) -> int:
    """Show every instruction block that a run would begin with, and where it comes from."""
    try:
        blocks, notes = assemble(request_of(invocation, interactive=False))
    except OpenFailed as exc:
        complain(safe(f"wisp: {exc!s}"))
        return exc.exit_code
    for note in notes:
        complain(flat(note))
    for source, text, size in blocks:
        say(safe(f"--- {named(source)} ({size:,} bytes)"))
        say(safe(f"{trimmed(safe(text))}\n"))
    return OK


def request_of(
    invocation: Invocation, *, interactive: bool, converses: bool = False, editor: bool = False
) -> OpenRequest:
    """What a command line asks of the host."""
    return OpenRequest(
        converses=converses,
        options=invocation.settings,
        interactive=interactive,
        cwd=invocation.cwd,
        continue_=invocation.continue_,
        resume=invocation.resume,
        fork=invocation.fork,
        no_session=invocation.no_session,
        yes=invocation.yes,
        own_process=True,
        editor=editor,
        trust=invocation.trust,
        no_project=invocation.no_project,
        strict_config=invocation.strict_config,
        output_schema=invocation.output_schema,
        attach=tuple(invocation.attach),
        record=invocation.record,
        replay=invocation.replay,
    )


async def _headless(invocation: Invocation, prompt: Prompt, opener: Opener) -> int:
    from wisp.frontends.cli.ask import Asker, LineReader
    from wisp.frontends.cli.print import JsonOutput, Output, Stopper, StreamOutput, TextOutput, run_prompt

    stopper = Stopper()
    asks = (
        invocation.form not in ("json", "stream-json") and is_terminal(sys.stdin) and is_terminal(sys.stderr)
    )
    try:
        client = await opener(request_of(invocation, interactive=asks), stopper.stopping)
    except OpenFailed as exc:
        stopper.done()
        return failed(str(exc), exc.exit_code, invocation.form or exc.output_format)
    form = client.snapshot().output_format
    text = TextOutput(styled=invocation.colour)
    output: Output = {"json": JsonOutput, "stream-json": StreamOutput}.get(form, lambda: text)()
    if is_terminal(sys.stderr) and not invocation.dumb:
        from wisp.frontends.cli.status import WithStatus

        output = WithStatus(output, lambda: text.line_open, summed=output is text)
    asker = Asker(LineReader(sys.stdin.fileno())) if asks else None
    try:
        return await run_prompt(client, prompt, output, stopper, asker=asker)
    except CommandRefused as exc:
        stopper.done()
        return failed(str(exc), USAGE, form)
    finally:
        await client.close()


async def _by_lines(invocation: Invocation, first: Prompt | None, opener: Opener) -> int:
    from wisp.frontends.cli.ask import LineReader
    from wisp.frontends.cli.lines import Session
    from wisp.frontends.cli.print import Stopper

    stopper = Stopper()
    try:
        client = await opener(request_of(invocation, interactive=False), stopper.stopping)
    except OpenFailed as exc:
        stopper.done()
        return failed(str(exc), exc.exit_code, "stream-json")
    try:
        return await Session(client, stopper).run(LineReader(sys.stdin.fileno()), first)
    finally:
        await client.close()


def failed(message: str, code: int, form: str) -> int:
    """Tell why nothing ran: on stderr for a person, and as a result object where one was asked for."""
    complain(safe(f"wisp: {message}"))
    if form in ("json", "stream-json"):
        from wisp.frontends.cli.print import write_json
        from wisp.frontends.cli.result import result_object

        judged = Verdict("error_during_execution", code or FAILED, "error")
        if code == CONFIGURATION:
            judged = Verdict("error_configuration", code, "error")
        elif code in signals.CODES.values():
            judged = Verdict("cancelled", code, "cancelled")
        write_json(result_object(None, RunView(error=message), judged))
    return code
