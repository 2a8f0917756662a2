"""The one place that starts programs: bounded in time, stoppable at once, leaving nothing behind.

Output goes to the caller's function as it comes.  Knows nothing of what is run or why.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from wisp.workspace.errors import Refused, refusal
from wisp.workspace.handles import as_folder
from wisp.workspace.namespace import Boxed
from wisp.workspace.stop import StopToken, Waker
from wisp.workspace.sweep import MARK, sweep

if TYPE_CHECKING:
    import subprocess

GRACE = 0.15
"""Seconds between asking a process to end and ending it."""
LINGER = 0.25
"""Seconds that background processes have to end by themselves after the command did."""
MEANWHILE = 0.1
"""Seconds that a program has before something else is done beside it."""
_HARD = 6.0
_CHUNK = 1 << 17
_PIPE_SIZE = (1031, 1 << 20)

_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "LESS": "-FRX",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "SUDO_ASKPASS": "/bin/false",
    "DEBIAN_FRONTEND": "noninteractive",
    "TERM": "dumb",
    "NO_COLOR": "1",
}
_NEVER = ("BASH_ENV", "ENV", "PROMPT_COMMAND", "RIPGREP_CONFIG_PATH", "OLDPWD", "CDPATH", MARK)

How = Literal["exited", "timeout", "stopped", "enough"]


class Ending(NamedTuple):
    """How a program ended."""

    how: How
    """`enough` when the output function said so."""
    code: int | None
    """Exit code, negative for a signal; None when it was ended by us."""
    left: tuple[str, ...] = ()
    """Names of processes that outlived it and were stopped."""


def quiet_environment(base: Mapping[str, str]) -> dict[str, str]:
    """`base`, which the caller built, plus what keeps programs from waiting for a person."""
    found = {name: value for name, value in base.items() if name not in _NEVER}
    return found | _QUIET


def run(
    argv: Sequence[str],
    *,
    cwd: int,
    env: Mapping[str, str],
    timeout: float,
    stop: StopToken,
    now: Callable[[], float],
    output: Callable[[bytes], object],
    errors: Callable[[bytes], object] | None = None,
    guarded: bool = True,
    fds: Sequence[int] = (),
    boxed: Boxed | None = None,
    stdin: int = -1,
    tty: bool = False,
    meanwhile: Iterator[bool] | None = None,
) -> Ending:
    """Run a program to its end and return after everything it started has ended.

    Args:
        argv: the program, looked up in the PATH of `env`, and its arguments.
        cwd: handle of the directory it starts in.
        env: its whole environment.
        timeout: seconds by `now` until it is ended.
        output: takes each piece of standard output (and of standard error unless `errors` is given);
            returning False ends the program.
        guarded: put a guardian between, which also ends detached descendants and outlives this process
            long enough to do so.  Without it only the process group is ended.
        fds: descriptors the program inherits, under the same numbers; with a guardian at most one, which
            holds the rules that confine the program (`sandbox/landlock.py`).
        boxed: the program is such a launcher; ending it ends the namespace first.
        stdin: what it reads; nothing unless given.
        tty: it gets a terminal of its own (`pseudoterminal.py`), which carries what it reads and says.
        meanwhile: taken step by step beside a program that is not soon over; False ends the program, as its
            output can.

    Raises:
        Refused: `spawn_failed` when it cannot be started.
    """
    guarded = guarded and bool(sys.executable) and os.path.isdir("/proc/self")
    made = _Run(now, stop, timeout, output, errors, tuple(fds), boxed, stdin, guarded and tty)
    made.meanwhile = meanwhile
    return made.whole(on_terminal(argv) if tty and not guarded else argv, cwd, dict(env), guarded)


class _Run:
    """One program from start to end, in one thread."""

    def __init__(
        self,
        now: Callable[[], float],
        stop: StopToken,
        timeout: float,
        output: Callable[[bytes], object],
        errors: Callable[[bytes], object] | None,
        fds: tuple[int, ...],
        boxed: Boxed | None,
        stdin: int,
        tty: bool,
    ) -> None:
        self._now, self._stop = now, stop
        self._fds, self._boxed, self._stdin, self._tty = fds, boxed, stdin, tty
        self._deadline = now() + timeout
        self._sinks: dict[int, Callable[[bytes], object]] = {}
        self._output, self._errors = output, errors
        self._how: How = "exited"
        self._code: int | None = None
        self._status = b""
        self._control = -1
        self._process: subprocess.Popen[bytes]
        self._guarded = False
        self._begun = now()
        self.meanwhile: Iterator[bool] | None = None
        self._id = os.urandom(8).hex()

    def whole(self, argv: Sequence[str], cwd: int, env: dict[str, str], guarded: bool) -> Ending:
        stop, self._guarded = self._stop, guarded
        stop.check()
        env[MARK] = self._id
        status = self._start(list(argv), cwd, env)
        waker = Waker()
        withdraw = stop.on_stop(waker.wake)
        try:
            self._watch(status, waker)
        finally:
            withdraw()
            waker.close()
            self._clean(status)
        return self._ending(argv[0])

    def _start(self, argv: list[str], cwd: int, env: dict[str, str]) -> int:
        import subprocess

        out_read, out_write = os.pipe()
        _widen(out_read)
        err_read, err_write = self._boxed.line if self._boxed else os.pipe() if self._errors else (-1, -1)
        control_read, control_write = os.pipe() if self._guarded else (-1, -1)
        status_read, status_write = os.pipe() if self._guarded else (-1, -1)
        theirs = [fd for fd in (out_write, err_write, control_read, status_write) if fd >= 0]
        theirs += self._boxed.given if self._boxed else []
        also = self._boxed.sinks if self._boxed else {}
        ours = [fd for fd in (out_read, err_read, control_write, status_read) if fd >= 0]
        keep = (control_read, status_write, cwd, *self._fds) if self._guarded else ()
        try:
            self._process = subprocess.Popen(
                _guard(argv, keep, self._tty) if keep else argv,
                stdin=self._stdin if self._stdin >= 0 else subprocess.DEVNULL,
                stdout=out_write,
                stderr=err_write if self._errors else out_write,
                env=env,
                cwd=None if self._guarded else as_folder(cwd),
                pass_fds=keep or self._fds,
                start_new_session=True,
            )
        except (OSError, ValueError) as exc:
            for fd in (*ours, *also):
                os.close(fd)
            why = exc.strerror if isinstance(exc, OSError) else str(exc)
            raise Refused("spawn_failed", f"{argv[0]} cannot be started: {why}") from None
        finally:
            for fd in theirs:
                os.close(fd)
        self._control = control_write
        self._sinks = {out_read: self._output, **also}
        if self._errors:
            self._sinks[err_read] = self._errors
        for fd in self._sinks:
            os.set_blocking(fd, False)
        return status_read if self._guarded else self._exit_handle()

    def _exit_handle(self) -> int:
        """A descriptor that becomes readable when the program ends, where the system has such."""
        try:
            return os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            return -1

    def _watch(self, status: int, waker: Waker) -> None:
        """Until the program and, when guarded, everything below it has ended."""
        poll = select.poll()
        for fd in (*self._sinks, waker.read, *([status] if status >= 0 else [])):
            poll.register(fd, select.POLLIN)
        if self._boxed:
            self._boxed.started()
            poll.register(self._boxed.read, select.POLLIN)
        hard = float("inf")
        while True:
            if self._how == "exited" and self._code is None:
                if self._stop.stopped:
                    hard = self._end("stopped")
                elif self._now() >= self._deadline:
                    hard = self._end("timeout")
            if self._now() >= hard:
                return
            if self._beside() and hard == float("inf"):
                hard = self._end("enough")
            for fd, _ in poll.poll(self._patience(hard)):
                if fd == waker.read:
                    poll.unregister(fd)
                elif self._boxed and fd == self._boxed.read:
                    poll.unregister(fd)
                    self._boxed.learn()
                elif fd == status and not self._guarded:
                    return
                elif fd == status:
                    piece = os.read(status, 4096)
                    self._status += piece
                    if not piece:
                        return
                    self._note_exit()
                    if self._code is not None and hard == float("inf"):
                        hard = self._now() + _HARD
                elif not self._drain(fd):
                    poll.unregister(fd)
                elif self._how == "enough" and hard == float("inf"):
                    hard = self._end("enough")
            if not self._guarded and self._process.poll() is not None:
                return

    def _beside(self) -> bool:
        """Do a step of what is done beside it; whether that is a reason to end."""
        if self.meanwhile is None or self._now() < self._begun + MEANWHILE:
            return False
        step = next(self.meanwhile, None)
        if step is not True:
            self.meanwhile = None
        return step is False

    def _patience(self, hard: float) -> float:
        """Milliseconds to wait before looking at the clock again."""
        if self.meanwhile is not None and self._now() >= self._begun + MEANWHILE:
            return 0
        until = hard if hard != float("inf") else self._deadline
        most = 250.0 if self._guarded else 20.0
        return max(1.0, min(most, (until - self._now()) * 1000))

    def _drain(self, fd: int, most: int = 1) -> bool:
        """Hand on what can be read now; False at the end of the stream."""
        for _ in range(most):
            try:
                piece = os.read(fd, _CHUNK)
            except BlockingIOError:
                return True
            if not piece:
                os.close(fd)
                del self._sinks[fd]
                return False
            if self._how != "enough" and self._sinks[fd](piece) is False and self._how == "exited":
                self._how = "enough"
        return True

    def _end(self, how: How) -> float:
        """Begin to end it; returns when to lose patience."""
        self._how = how
        if self._boxed and self._boxed.end():
            return self._now() + _HARD
        if self._guarded:
            try:
                os.write(self._control, b"T")
            except OSError:
                pass  # the guardian is gone; the sweep follows
            return self._now() + _HARD
        signal_group(self._process.pid, signal.SIGTERM if how != "enough" else signal.SIGKILL)
        return self._now() + GRACE

    def _clean(self, status: int) -> None:
        """Whatever happened: nothing runs, nothing stays open."""
        import subprocess

        if self._process.poll() is None:
            if self._boxed:
                self._boxed.end()
            if self._guarded:
                os.close(self._control)
                self._control = -1
                try:
                    self._process.wait(1.0 if self._how == "exited" and self._code is not None else 0.3)
                except subprocess.TimeoutExpired:
                    pass
            if self._process.poll() is None:
                signal_group(self._process.pid, signal.SIGKILL)
                self._process.wait()
        if self._boxed:
            _wait_for_all(self._boxed, self._how)
        elif not self._guarded:
            signal_group(self._process.pid, signal.SIGKILL)
        elif not self._status.endswith(b"done\n"):
            sweep(self._id)
        for fd in list(self._sinks):
            if self._drain(fd, 64):
                os.close(fd)
                del self._sinks[fd]
        for fd in (status, self._control):
            if fd >= 0:
                os.close(fd)

    def _note_exit(self) -> None:
        for line in self._status.split(b"\n")[:-1]:
            if line.startswith(b"exit "):
                self._code = int(line[5:])

    def _ending(self, program: str) -> Ending:
        lines = self._status.decode("utf-8", "replace").split("\n")
        for line in lines:
            if line.startswith("fail "):
                words = refusal(OSError(int(line[5:]), os.strerror(int(line[5:]))), program)
                raise Refused("spawn_failed", f"{words.message} (the program could not be started)")
        code = self._code if self._guarded else self._process.returncode
        left = tuple(line[5:] for line in lines if line.startswith("left "))
        if self._how == "exited" and code is None:
            code = -signal.SIGKILL  # its guardian was ended from outside
        return Ending(self._how, code if self._how == "exited" else None, left)


def _guard(argv: list[str], keep: tuple[int, ...], tty: bool) -> list[str]:
    """The command that runs `argv` under a guardian with its descriptors: control, status, folder, rules."""
    code = (
        "import sys; sys.path += [sys.argv[1], sys.argv[1] + '/sandbox']; import guardian; "
        "guardian.main(sys.argv[2:], lambda rules: __import__('landlock').apply(rules), "
        "lambda *call: __import__('pseudoterminal').main(*call))"
    )
    confine = keep[3] if len(keep) > 3 else -1
    numbers = (*keep[:3], round(GRACE * 1000), round(LINGER * 1000), confine, int(tty))
    return [sys.executable, "-I", "-S", "-c", code, os.path.dirname(__file__), *map(str, numbers), *argv]


def on_terminal(argv: Sequence[str]) -> list[str]:
    """The command that runs `argv` on a terminal of its own, wherever it is started (`pseudoterminal.py`).

    The program goes along as text, with the interpreter that is really there: an environment of Python may
    lie where a box lets nothing be seen.
    """
    with open(os.path.join(os.path.dirname(__file__), "pseudoterminal.py"), encoding="utf-8") as file:
        return [os.path.realpath(sys.executable), "-I", "-S", "-c", file.read(), *argv]


def _wait_for_all(boxed: Boxed, how: How) -> None:
    """The launcher ends when its program did; what that left is ended by the system a moment later."""
    if not (how == "exited" and boxed.empty()) and not boxed.wait(1.0):
        boxed.end()
        boxed.wait(_HARD)
    boxed.close()


def signal_group(pid: int | None, number: int) -> bool:
    """Send a signal to a process group; refuses what could reach ourselves or everyone."""
    if not isinstance(pid, int) or pid <= 1 or pid == os.getpgrp():
        return False
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _widen(fd: int) -> None:
    """A roomier pipe, where the system allows: fewer wake-ups for the same output."""
    import fcntl

    try:
        fcntl.fcntl(fd, *_PIPE_SIZE)
    except OSError:
        pass
