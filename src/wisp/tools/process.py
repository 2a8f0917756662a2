"""Looking after the commands that `bash` was asked to keep running."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from wisp.messages.codec import clean
from wisp.messages.content import Text
from wisp.messages.tool import Effect, Replay, ToolFailure, ToolOutcome, ToolSpec
from wisp.tools.base import Prepared, RunContext
from wisp.tools.render import plain_output
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import failures
from wisp.workspace.background import Background, Backgrounds
from wisp.workspace.stop import StopToken
from wisp.workspace.text import decode_output

MOST_WAIT = 60.0


class ProcessArguments(msgspec.Struct, frozen=True):
    """What `process` takes."""

    operation: Literal["list", "read", "write", "stop"]
    id: str = ""
    input: str = ""
    wait: Annotated[float, msgspec.Meta(description="Seconds")] = 0.0


class ProcessTool:
    """Lists, reads, feeds and stops background commands."""

    parallel_safe = False
    replay: Replay = "never"

    def __init__(self, backgrounds: Backgrounds) -> None:
        self._backgrounds = backgrounds
        self.spec = ToolSpec(
            "process",
            "Look after background commands: their new output, input, end.",
            schema_of(ProcessArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what would be done; only input is an effect."""
        args = decode(ProcessArguments, arguments, tool="process")
        effects: tuple[Effect, ...] = ()
        if args.operation == "list":
            return Prepared(
                "process", msgspec.to_builtins(args), (), lambda _: self._list(), "list background commands"
            )
        with failures():
            one = self._backgrounds.find(args.id)
        if args.operation == "write":
            if not args.input:
                raise ToolFailure("invalid_arguments", "process: write needs input")
            effects = (Effect("execute", f"{one.command} <<< {args.input!r}", boxed=one.boxed),)
        return Prepared(
            "process",
            msgspec.to_builtins(args),
            effects,
            lambda context: self._do(args, one, context),
            f"{args.operation} {one.name}: {one.command.strip().splitlines()[0][:60]}",
            preview=f"{one.command}\n<<< input:\n{args.input}" if args.input else "",
        )

    def _list(self) -> ToolOutcome:
        rows = [f"{one.name} {state(one)}: {clean(one.command)}" for one in self._backgrounds.all()]
        self._backgrounds.ended()
        return ToolOutcome((Text("\n".join(rows) or "no background commands"),))

    def _do(self, args: ProcessArguments, one: Background, context: RunContext) -> ToolOutcome:
        wait = max(0.0, min(args.wait, MOST_WAIT))
        with failures():
            if args.operation == "write":
                data = args.input.encode("utf-8", "surrogateescape")
                done = one.write(data)
                if done < len(data):
                    raise ToolFailure(
                        "busy",
                        f"{one.name} took {done} of {len(data)} bytes; it is not reading, try the rest later",
                    )
                if not wait:
                    return ToolOutcome((Text(f"{one.name} got {done} bytes"),))
            elif args.operation == "stop" and not one.stop():
                raise ToolFailure("timeout", f"{one.name} did not end yet; try again")
            return report(one, wait, context.stop)


def report(one: Background, wait: float, stop: StopToken) -> ToolOutcome:
    """What is new of one command, and how it stands."""
    news = one.read(wait, stop)
    lines = []
    if news.skipped:
        where = f"; all of it is in {one.spool.log}" if one.spool.log else ""
        lines.append(f"[{news.skipped:,} bytes before this are not shown{where}]")
    body = clean(plain_output(decode_output(news.data, ""))).rstrip("\n")
    if body:
        lines.append(body)
    if not one.running:
        one.reported = True
    lines.append(f"[{one.name} {state(one)}]" if one.running else f"[{ended_line(one)}]")
    code = one.ending.code if one.ending else None
    details = {"id": one.name, "running": one.running, "exit_code": code, "log": one.spool.log}
    failed = bool(one.trouble)
    return ToolOutcome((Text("\n".join(lines)),), failed, "spawn_failed" if failed else "", details)


def state(one: Background) -> str:
    """How it stands, in words."""
    if one.running:
        return "running"
    if one.ending is None:
        return f"failed: {clean(one.trouble)}"
    if one.ending.how != "exited":
        return "stopped"
    return f"ended with exit code {one.ending.code}"


def ended_line(one: Background) -> str:
    """That and how it ended."""
    return f"background command {one.name} {state(one)}: {clean(one.command.strip().splitlines()[0][:80])}"
