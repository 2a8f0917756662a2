"""Running one shell command to its end."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from wisp.messages.codec import clean
from wisp.messages.content import Text
from wisp.messages.ids import Clock
from wisp.messages.tool import Effect, Replay, ToolFailure, ToolOutcome, ToolSpec
from wisp.tools.base import Prepared, RunContext
from wisp.tools.process import ended_line, report
from wisp.tools.render import MAX_BYTES, MAX_LINES, plain_output, plural
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import failures
from wisp.workspace.background import Background, Backgrounds
from wisp.workspace.box import Box, News
from wisp.workspace.process import Ending, quiet_environment, run
from wisp.workspace.root import Workspace
from wisp.workspace.silence import SilenceLimit
from wisp.workspace.spool import Spool
from wisp.workspace.stop import StopToken
from wisp.workspace.text import decode_output

DEFAULT_SECONDS = 120.0
MOST_SECONDS = 600.0
FIRST_LOOK = 0.5
"""Seconds after which a background command's first words are shown."""
MOST_NEWS = 8
"""Names, and sentences, that are told of what a command left."""
_LIMITED = 'ulimit -v "$1" || exit 125; shift; exec "$@"'
_PROGRESS_BYTES = 8192
_PROGRESS_SECONDS = 0.05


class ShellArguments(msgspec.Struct, frozen=True):
    """What `bash` takes."""

    command: str
    timeout: Annotated[float, msgspec.Meta(description="Seconds, at most 600")] = DEFAULT_SECONDS
    background: Annotated[bool, msgspec.Meta(description="Keep it running, for `process`")] = False
    tty: bool = False


class ShellTool:
    """Runs a command by a real shell in the working directory.

    Args:
        environment: all that a command may see; what keeps programs from waiting for a person is added.
        spool_folder: a private folder for whole outputs; None keeps none.
        code_page: tried where output is not UTF-8.
        box: where commands run; None runs them plainly.
        backgrounds: takes what is to keep running.
        silence_limit: seconds without output after which a command is ended; None for no such limit.
        memory_limit: most address space of each process of a command, in MiB; None for no such limit.
    """

    parallel_safe = False
    replay: Replay = "never"

    def __init__(
        self,
        workspace: Workspace,
        environment: Mapping[str, str],
        clock: Clock,
        *,
        spool_folder: str | None,
        shell: str = "/bin/bash",
        code_page: str = "",
        box: Box | None = None,
        backgrounds: Backgrounds | None = None,
        silence_limit: float | None = None,
        memory_limit: int | None = None,
    ) -> None:
        self._memory_limit = memory_limit
        self._silence_limit = silence_limit or float("inf")
        self._workspace, self._clock, self._shell, self._box = workspace, clock, shell, box
        self._environment = quiet_environment(environment) | {"PWD": workspace.cwd}
        self._spool_folder, self._code_page = spool_folder, code_page
        self._backgrounds = backgrounds or Backgrounds()
        self.spec = ToolSpec(
            "bash",
            "Run a bash command in the working directory, without input. Of long output the end is shown; "
            "all is kept in a file. What it leaves running is stopped unless background is set.",
            schema_of(ShellArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what would be run."""
        args = decode(ShellArguments, arguments, tool="bash")
        if not args.command.strip():
            raise ToolFailure("invalid_arguments", "bash: the command is empty")
        if "\0" in args.command:
            raise ToolFailure("invalid_arguments", "bash: the command holds a NUL character")
        if not args.timeout > 0:
            raise ToolFailure("invalid_arguments", "bash: the timeout must be more than 0 seconds")
        args = msgspec.structs.replace(args, timeout=min(args.timeout, MOST_SECONDS))
        seen = self._surroundings()
        first, *more = args.command.strip().split("\n")
        return Prepared(
            tool="bash",
            arguments=msgspec.to_builtins(args),
            effects=self._effects(args.command),
            run=lambda context: self._run(args, context, seen),
            summary=f"$ {first}"
            + (" ..." if more else "")
            + (" &" if args.background else "")
            + (" (on a terminal)" if args.tty else ""),
            preview=args.command,
            fingerprint=seen,
        )

    def _surroundings(self) -> str:
        """The identity of what a command would run in: folders, environment and what the sandbox grants."""
        import hashlib

        folders = []
        for root in self._workspace.roots:
            try:
                found = os.stat(root.path)
                folders.append((root.path, found.st_dev, found.st_ino))
            except OSError:
                folders.append((root.path, 0, 0))
        granted = () if self._box is None else (*self._box.settings, self._box.prove().kind)
        whole = (folders, sorted(self._environment.items()), granted, self._shell, self._memory_limit)
        return hashlib.sha256(repr(whole).encode("utf-8", "surrogateescape")).hexdigest()

    def _effects(self, command: str) -> tuple[Effect, ...]:
        """The command itself, and, where no box confines it, what its words reach outside through links."""
        from wisp.tools.reached import reached
        from wisp.tools.scripts import deciding

        whole, found = self._effect(command), reached(self._workspace, command)
        whole = msgspec.structs.replace(
            whole, reaches=clean(found.hidden), runs=clean(deciding(self._workspace, command))
        )
        if whole.boxed:
            return (whole,)
        return (whole, *(Effect("read", clean(real), inside=False) for real in found.outside))

    def _effect(self, command: str) -> Effect:
        if self._box is None:
            return Effect("execute", command)
        proof = self._box.prove()
        if proof.kind == "bubblewrap":
            return Effect("execute", command, boxed=True)
        return Effect("execute", command, unboxed=proof.reason)

    def _spool(self) -> Spool:
        name = f"bash-{self._clock.new_id()}.log"
        return Spool(self._spool_folder, name, tail_bytes=MAX_BYTES, tail_lines=MAX_LINES)

    def _keep(self, args: ShellArguments, context: RunContext) -> ToolOutcome:
        """Start a command that goes on; what it said and whether it lived through its first moment."""

        def start(stop: StopToken, output: Callable[[bytes], object], stdin: int) -> Ending:
            return self._start(args, stop, output, stdin)[0]

        with failures():
            boxed = self._effect(args.command).boxed
            made = self._backgrounds.start(args.command, self._spool(), start, boxed=boxed)
            context.stop.wait(FIRST_LOOK)
            return report(made, 0.0, context.stop)

    def _run(self, args: ShellArguments, context: RunContext, seen: str) -> ToolOutcome:
        if self._surroundings() != seen:
            raise ToolFailure(
                "stale_input",
                "bash: the working directory was replaced meanwhile; nothing was run, repeat it",
            )
        if args.background:
            return self._keep(args, context)
        context.stop.check()
        spool = self._spool()
        live = _Progress(context.progress, self._clock.monotonic)
        quiet = SilenceLimit(context.stop, self._silence_limit, self._clock.monotonic)
        fresh: list[News | None] = []

        def heard(data: bytes) -> None:
            quiet.heard()
            live.feed(data)

        def start(stop: StopToken, output: Callable[[bytes], object], stdin: int) -> Ending:
            stop.on_stop(lambda: quiet.stop(stop.reason))
            ending, new = self._start(args, quiet, output, stdin)
            fresh.append(new)
            return ending

        boxed = self._box is not None and self._box.prove().kind == "bubblewrap"
        with failures():
            made, late = self._backgrounds.watch(
                args.command, spool, start, boxed=boxed, seconds=args.timeout, heard=heard
            )
        quiet.withdraw()
        live.close()
        if made.name and made.running:
            quiet.endure()
            return self._let_go(made)
        if made.fault is not None or made.ending is None:
            with failures():
                raise made.fault or RuntimeError(made.trouble)
        made.reported = True  # here and now
        ending = made.ending
        if (late or quiet.exceeded) and ending.how == "stopped":
            ending = ending._replace(how="timeout")
        return self._outcome(args, spool, ending, fresh[0], silent=quiet.exceeded)

    def _let_go(self, one: Background) -> ToolOutcome:
        """What the model is told of a command that the user let go on."""
        told = report(one, 0.0, StopToken())
        words = f"[the user let it go on in the background, as {one.name}; `process` looks after it]"
        return ToolOutcome((Text(f"{told.text}\n{words}"),), False, "", told.details)

    def _start(
        self,
        args: ShellArguments,
        stop: StopToken,
        output: Callable[[bytes], object],
        stdin: int = -1,
    ) -> tuple[Ending, News | None]:
        """Run it; how it ended, and in a sandbox the protected names that are new."""
        argv, env, forever = [self._shell, "-c", args.command], self._environment, float("inf")
        if self._memory_limit is not None:  # the hard limit too, which nothing it starts can raise
            argv = [self._shell, "-c", _LIMITED, "limit", str(self._memory_limit * 1024), *argv]
        if args.tty:
            env = env | {"TERM": "xterm"}
        if self._box is not None and self._box.prove().kind != "none":
            return self._box.run(
                argv, env=env, timeout=forever, stop=stop, output=output, stdin=stdin, tty=args.tty
            )
        ending = run(
            argv,
            cwd=self._workspace.roots[0].fd,
            env=env,
            timeout=forever,
            stop=stop,
            now=self._clock.monotonic,
            output=output,
            stdin=stdin,
            tty=args.tty,
        )
        return ending, None

    def _outcome(
        self,
        args: ShellArguments,
        spool: Spool,
        ending: Ending,
        fresh: News | None,
        *,
        silent: bool = False,
    ) -> ToolOutcome:
        body = self._body(spool)
        notes = []
        if ending.left:
            names = ", ".join(sorted(set(ending.left)))
            notes.append(f"[stopped what it left running in the background: {clean(names)}]")
        code, is_error = "", False
        if ending.how == "timeout":
            code, is_error = "timeout", True
            notes.append(
                f"error (timeout): no output for {self._silence_limit:g} seconds (silence_limit); "
                "have it tell how far it is, or run it with background"
                if silent
                else f"error (timeout): ended after {args.timeout:g} seconds; "
                f"raise timeout (at most {MOST_SECONDS:g}) or do less at once"
            )
        elif ending.how != "exited":
            code, is_error = "cancelled", True
            notes.append("error (cancelled): stopped before it ended")
        else:
            notes.append(f"exit code: {_exit_code(ending.code)}")
            if ending.code:
                code, is_error = "exit_status", True
                notes += _hints(body) if fresh is not None else []
        if fresh is not None and fresh.names:
            names = ", ".join(clean(path) for path in fresh.names[:MOST_NEWS])
            notes.append(f"[new protected names, which nothing loads without the user's trust: {names}]")
        if fresh is not None:
            notes += [f"[{clean(words)}]" for words in fresh.said[:MOST_NEWS]]
            notes += [f"[and {more} more like that]" for more in (len(fresh.said) - MOST_NEWS,) if more > 0]
        notes += [f"[{ended_line(one)}]" for one in self._backgrounds.ended()]
        details = {
            "exit_code": _exit_code(ending.code) if ending.how == "exited" else None,
            "bytes": spool.total,
            "lines": spool.lines,
            "log": spool.log,
            "sandboxed": fresh is not None,
        }
        whole = "\n".join([*([body] if body else []), *notes])
        return ToolOutcome((Text(whole),), is_error, code, details)

    def _body(self, spool: Spool) -> str:
        """The end of the output, and an honest word about what is not shown."""
        data, count = spool.tail()
        if data.count(b"\0") > len(data) // 100 or (b"\0" in spool.head and b"\0" in data):
            where = f"; it is in {spool.log}" if spool.log else ""
            return f"[binary output of {spool.total:,} bytes{where}]"
        body = clean(plain_output(decode_output(data, self._code_page))).rstrip("\n")
        if not spool.cut:
            return body
        where = f"all of it is in {spool.log}" if spool.log else "the rest was not kept"
        trouble = f" ({spool.trouble})" if spool.trouble else ""
        shown = f"the last {plural(count, 'line')} of {spool.lines:,}"
        return f"[{shown} ({spool.total:,} bytes); {where}{trouble}]\n{body}"


_BOXED = (
    (
        "Read-only file system",
        "only the workspace and /tmp can be written, protected names such as .git/config not",
    ),
    ("Temporary failure in name resolution", "it has no network"),
    ("Could not resolve host", "it has no network"),
    ("Network is unreachable", "it has no network"),
)


def _hints(body: str) -> list[str]:
    """What the sandbox may have to do with a failure, so that nobody searches for another cause."""
    said = dict.fromkeys(words for sign, words in _BOXED if sign in body)
    return [f"[this ran in a sandbox: {words}]" for words in said]


def _exit_code(code: int | None) -> int | None:
    """As a shell says it: 128 and the number for a signal."""
    return 128 - code if code is not None and code < 0 else code


class _Progress:
    """Live output in pieces of a bearable size and rate; characters are never cut."""

    def __init__(self, tell: Callable[[str], None], now: Callable[[], float]) -> None:
        self._tell, self._now = tell, now
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._next = 0.0

    def feed(self, data: bytes) -> None:
        self._waiting = (self._waiting + self._decoder.decode(data[-4 * _PROGRESS_BYTES :]))[
            -_PROGRESS_BYTES:
        ]
        if self._now() >= self._next:
            self._send()

    def close(self) -> None:
        self._send()

    def _send(self) -> None:
        if self._waiting:
            self._tell(self._waiting)
            self._waiting = ""
            self._next = self._now() + _PROGRESS_SECONDS
