"""From the command line to a running front end: the only file that knows them all.

Each front end, and everything heavy, is imported by the branch that needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wisp.frontends.cli.invocation import Invocation
    from wisp.host.client import ConversationClient, OpenRequest
    from wisp.host.conversation import Conversation


def main(argv: Sequence[str] | None = None) -> int:
    """The `wisp` command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return _main(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        from wisp.frontends.cli.streams import quiet_stdout

        quiet_stdout()
        return 141
    except Exception as exc:  # the last one to hear of it: `_bug` tells it
        from wisp.frontends.cli.streams import OutputFailed

        if isinstance(exc, OutputFailed):
            _complain(f"wisp: {exc}")
            return 1
        return _bug(exc, words)


def entry() -> None:
    """The installed script: like `main`, but leaves at once, tearing nothing down that the system frees."""
    from wisp.frontends.cli.streams import OutputFailed, make_usable, settle

    make_usable()
    if _asks_for_one_run(sys.argv[1:]):
        from wisp.frontends.cli import signals

        signals.arm()
    code = main()
    try:
        settle()
    except BrokenPipeError:
        code = code or 141
    except OutputFailed as exc:
        code = code or 1
        with suppress(OSError):  # standard error may have gone the same way
            _complain(f"wisp: {exc}")
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _complain(text: str) -> None:
    from wisp.frontends.cli.streams import complain
    from wisp.host.showing import safe

    complain(safe(text))


def _asks_for_one_run(words: Sequence[str]) -> bool:
    return any(word.startswith(("-p", "--prompt")) for word in words)


def _bug(exc: Exception, words: Sequence[str]) -> int:
    """What nobody expected: one sentence, in the form that was asked for; whoever mends it can have more."""
    from wisp.frontends.cli.run import failed
    from wisp.host.paths import environment

    if environment().get("WISP_TRACEBACK"):
        import traceback

        _complain("".join(traceback.format_exception(exc)).rstrip())
        return 1
    frame = exc.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}" if frame else "?"
    said = f"this is a bug in wisp: {type(exc).__name__}: {exc} ({place})"
    return failed(f"{said}; WISP_TRACEBACK=1 shows where it comes from", 1, _form(words))


def _form(words: Sequence[str]) -> str:
    """The output format of a run, where options or the environment say it."""
    from wisp.frontends.cli.args import form_asked_for
    from wisp.host.paths import environment

    elsewhere = environment().get("WISP_OUTPUT_FORMAT", "") if _asks_for_one_run(words) else ""
    return form_asked_for(words) or elsewhere


def _main(words: list[str]) -> int:
    if words == ["--version"]:
        from wisp._version import __version__
        from wisp.frontends.cli.streams import hand_over

        hand_over(f"wisp {__version__}\n")
        return 0
    if sys.platform != "linux" and sys.platform != "darwin":
        _complain("wisp runs on Linux and macOS; on Windows use it inside WSL.")
        return 3
    from wisp.frontends.cli.args import parse
    from wisp.frontends.cli.invocation import UsageError

    try:
        invocation = parse(words)
    except UsageError as exc:
        from wisp.frontends.cli.run import failed

        return failed(str(exc), 2, _form(words))
    except SystemExit as exc:  # after --help
        return int(exc.code or 0)
    return _profiled(invocation) if invocation.profile else _dispatch(invocation)


def _profiled(invocation: Invocation) -> int:
    """The command, and where its time went: everything of the main thread, from here to its end."""
    from cProfile import Profile

    from wisp.frontends.cli.run import failed
    from wisp.host.given import fresh_file

    try:
        fresh_file(invocation.profile)
    except OSError as exc:
        return failed(
            f"the profile cannot be written: {exc}", 2, str(invocation.settings.get("output_format", ""))
        )
    profile = Profile()
    try:
        return profile.runcall(_dispatch, invocation)
    finally:
        profile.dump_stats(invocation.profile)


def _dispatch(invocation: Invocation) -> int:
    command = invocation.command
    if command == "version":
        from wisp._version import __version__
        from wisp.frontends.cli.streams import hand_over

        hand_over(f"wisp {__version__}\n")
        return 0
    if invocation.print_instructions:
        from wisp.frontends.cli.run import print_instructions
        from wisp.host.instructions import instructions

        return print_instructions(invocation, instructions)
    if invocation.worktree and command in ("run", "chat"):
        return _in_worktree(invocation)
    if command == "run" and not invocation.headless and _at_terminal():
        return _screen(invocation)
    if command in ("run", "chat"):
        from wisp.frontends.cli.run import run
        from wisp.host.build import Overrides, open_conversation, open_host
        from wisp.host.paths import environment

        env = environment()
        form = str(invocation.settings.get("output_format") or env.get("WISP_OUTPUT_FORMAT", ""))
        dumb = env.get("TERM", "") in ("", "dumb")
        return run(
            invocation._replace(form=form, dumb=dumb, colour=not dumb and not env.get("NO_COLOR")),
            lambda request, hurry: open_host(request, Overrides(hurry=hurry)),
            open_conversation,
        )
    if command == "acp":
        return _acp(invocation)
    if command == "rpc":
        from wisp._version import __version__
        from wisp.frontends.cli.run import request_of
        from wisp.frontends.rpc.stdio import run_rpc
        from wisp.host.build import open_conversation

        return run_rpc(request_of(invocation, interactive=True), open_conversation, __version__)
    if command == "mcp serve":
        return _mcp_serve(invocation)
    if command == "demo":
        from wisp.frontends.cli.demo import run_demo
        from wisp.host.demo import open_demo

        return run_demo(open_demo, deny_edits=invocation.deny_edits)
    if command == "context":
        import asyncio

        from wisp.frontends.cli.context import run_context
        from wisp.frontends.cli.run import request_of
        from wisp.host.looking import context_of

        request = request_of(invocation, interactive=False)
        return run_context(invocation, lambda prefix: asyncio.run(context_of(request, prefix)))
    from wisp.host.client import OpenRequest
    from wisp.host.small import HostLibrary

    if command in ("login", "logout", "auth"):
        from wisp.frontends.cli.login import run_login

        return run_login(invocation, HostLibrary(OpenRequest(options=invocation.settings)))
    if command == "mcp":
        from wisp.frontends.cli.mcp import run_mcp

        return run_mcp(invocation, HostLibrary(OpenRequest(options=invocation.settings)))
    if command == "sessions":
        from wisp.frontends.cli.sessions import run_sessions

        return run_sessions(invocation, HostLibrary(OpenRequest(options=invocation.settings)))
    from wisp.frontends.cli.small import run_small

    return run_small(invocation, HostLibrary(OpenRequest(options=invocation.settings)))


def _in_worktree(invocation: Invocation) -> int:
    """The same command in a worktree of its own, which ends with it."""
    from wisp.frontends.cli.run import failed
    from wisp.host.client import OpenFailed
    from wisp.host.separate import separate
    from wisp.host.showing import flat

    try:
        place = separate(invocation.cwd, invocation.resume, invocation.settings)
    except OpenFailed as exc:
        return failed(str(exc), exc.exit_code, str(invocation.settings.get("output_format", "")))
    try:
        for note in place.notes:
            _complain(f"wisp: {flat(note)}")
        return _dispatch(invocation._replace(worktree=False, cwd=place.cwd))
    finally:
        _complain(f"wisp: {place.leave()}")


def _acp(invocation: Invocation) -> int:
    """The agent for editors; what opens a conversation is imported with the first one."""
    from wisp._version import __version__
    from wisp.frontends.acp.serve import run_acp
    from wisp.frontends.cli.run import request_of
    from wisp.frontends.wire.pipes import own_descriptors, remark
    from wisp.host.showing import flat
    from wisp.host.small import HostLibrary

    async def opener(request: OpenRequest) -> Conversation:
        from wisp.host.build import open_conversation

        return await open_conversation(request)

    reading, writing = own_descriptors()
    return run_acp(
        request_of(invocation, interactive=True, editor=True),
        opener,
        HostLibrary,
        version=__version__,
        reading=reading,
        writing=writing,
        log=lambda text: remark(2, flat(f"wisp: {text}")),
    )


def _mcp_serve(invocation: Invocation) -> int:
    """The task tool for other agents; what a task may do is known, and said, before the first one."""
    from wisp._version import __version__
    from wisp.frontends.cli.run import failed, request_of
    from wisp.frontends.mcp.serve import Server, run_mcp_server
    from wisp.frontends.wire.pipes import own_descriptors, remark
    from wisp.host.build import open_host
    from wisp.host.client import OpenFailed
    from wisp.host.looking import policy_of
    from wisp.host.showing import flat

    request = request_of(invocation, interactive=False)
    try:
        cwd, mode = policy_of(request)
    except OpenFailed as exc:
        return failed(str(exc), exc.exit_code, "")
    reading, writing = own_descriptors()
    return run_mcp_server(
        lambda: Server(request, cwd, mode, open_host, __version__),
        reading=reading,
        writing=writing,
        log=lambda text: remark(2, flat(f"wisp: {text}")),
    )


def _at_terminal() -> bool:
    from wisp.frontends.cli.terminal import is_terminal

    return is_terminal(sys.stdin) and is_terminal(sys.stdout)


def _screen(invocation: Invocation) -> int:
    """The full-screen interface; the host is imported and opened when its first frame stands."""
    import gc

    gc.disable()  # what is imported stays; looking through it costs time.  The screen switches it on
    from wisp.frontends.tui.run import run_screen

    async def connect() -> ConversationClient:
        from wisp.frontends.cli.run import request_of
        from wisp.host.build import open_conversation

        return await open_conversation(request_of(invocation, interactive=True, converses=True))

    try:
        return run_screen(connect, invocation.prompt or "", inline=invocation.inline)
    except Exception as exc:
        from wisp.host.client import OpenFailed

        if not isinstance(exc, OpenFailed):
            raise
        _complain(f"wisp: {exc}")
        return exc.exit_code


if __name__ == "__main__":
    entry()
