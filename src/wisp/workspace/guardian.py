"""A small program that stands between the agent and one command, and leaves nothing of it behind.

Started by `process.py` only, in a process of its own; imports nothing of wisp.  Every descendant of the
command, however detached, becomes its child (it is a subreaper).  It ends them when the command ends,
when told to, and when the agent is gone.  Knows nothing of output.

    CONTROL STATUS CWD GRACE_MS LINGER_MS CONFINE TTY PROGRAM [ARGUMENT ...]

CONTROL: reading anything, or its end, means stop.  STATUS: takes lines `exit CODE`, `fail ERRNO`,
`left NAME`, `stuck COUNT`, `done`, and ends when all is over.  CWD is a descriptor too; so is CONFINE,
which holds what `sandbox/landlock.py` applies to the command, or is -1.  TTY: 1 gives the command a terminal
of its own, made before it is confined.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` only adds enums, and 3 ms
import os
import select
import time

TYPE_CHECKING = False  # `typing` costs more than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable

_SUBREAPER = 36
_GIVE_UP = 4.0


def main(
    arguments: list[str],
    apply: Callable[[bytes], None],
    on_terminal: Callable[[list[str], Callable[[], object]], int],
) -> None:
    """Run one command, wait until nothing of it is left, and leave.

    Args:
        apply: confines this process for ever (`sandbox/landlock.py`).
        on_terminal: runs a program on a terminal of its own (`pseudoterminal.py`).
    """
    control, status, cwd, grace, linger, confine, tty = (int(word) for word in arguments[:7])
    program = arguments[7:]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    _become_subreaper()
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(ended, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for fd in (control, status, cwd):
        os.set_inheritable(fd, False)
    pid = os.fork()
    if pid == 0:

        def shut() -> None:
            if confine >= 0:
                apply(_all(confine))

        _become(program, cwd, status, shut, on_terminal if tty else None)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(cwd)
    if confine >= 0:
        os.close(confine)
    Guardian(pid, control, status, ended, grace / 1000, linger / 1000).watch()
    os._exit(0)


class Guardian:
    """Waits for one command and ends its descendants."""

    def __init__(self, pid: int, control: int, status: int, ended: int, grace: float, linger: float) -> None:
        self._pid, self._control, self._status, self._ended = pid, control, status, ended
        self._grace, self._linger = grace, linger
        self._running = True
        self._told = False

    def watch(self) -> None:
        """Return when nothing is left."""
        while self._running and not self._told:
            self._wait(None)
        if not self._told:
            self._settle(self._linger)
            for name in self._names(descendants(os.getpid()))[:8]:
                self._say(f"left {name}")
        if not self._settle(0):
            everyone = self._everyone()
            signal_all(everyone, signal.SIGTERM)
            signal_all(everyone, signal.SIGCONT)
            if any(_lives(pid) and _heeds(pid) for pid in everyone):
                self._settle(self._grace)
        if self._kill():
            self._say("done")

    def _settle(self, seconds: float) -> bool:
        """Wait up to `seconds` until no descendant is left; whether that is so."""
        end = time.monotonic() + seconds
        while self._reap():
            rest = end - time.monotonic()
            if rest <= 0:
                return False
            self._wait(rest, told=False)
        return True

    def _kill(self) -> bool:
        """End everyone; stopped first, so that nothing multiplies meanwhile.  Whether none is left."""
        end = time.monotonic() + _GIVE_UP
        while self._reap():
            held: set[int] = set()
            for _ in range(8):
                fresh = set(self._everyone()) - held
                if not fresh:
                    break
                signal_all(list(fresh), signal.SIGSTOP)
                held |= fresh
            signal_all(list(held), signal.SIGKILL)
            if time.monotonic() > end:
                self._say(f"stuck {len(self._everyone())}")
                return False
            self._wait(0.02, told=False)
        return True

    def _everyone(self) -> list[int]:
        return descendants(os.getpid())

    def _wait(self, seconds: float | None, *, told: bool = True) -> None:
        watched = [self._ended] + ([self._control] if told else [])
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._control in ready:
            self._told = True
        if self._ended in ready:
            os.read(self._ended, 65536)
        self._reap()

    def _reap(self) -> bool:
        """Collect what ended; whether anything is left to wait for."""
        while True:
            try:
                pid, code = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._pid and self._running:
                self._running = False
                self._say(f"exit {os.waitstatus_to_exitcode(code)}")

    def _names(self, pids: list[int]) -> list[str]:
        found = []
        for pid in pids:
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                    found.append(file.read().strip())
            except OSError:
                continue  # ended meanwhile
        return found

    def _say(self, line: str) -> None:
        try:
            os.write(self._status, line.encode("utf-8", "replace") + b"\n")
        except OSError:
            pass  # the agent is gone; the work here goes on


def descendants(top: int, children: Callable[[int], list[int]] | None = None) -> list[int]:
    """Pids of all processes below `top`, zombies left out.

    A child that is made meanwhile may be missed: who ends them looks again until there is none to wait for.

    Args:
        children: tells those of one process.  Else each is asked, so that a machine full of others costs
            nothing, or where the system lists none, all that there are are looked through.
    """
    if children is None:
        children = listed_children if os.path.exists("/proc/thread-self/children") else table_of_children()
    found: list[int] = []
    todo = [top]
    while todo:
        below = [pid for pid in children(todo.pop()) if _lives(pid)]
        found += below
        todo += below
    return found


def listed_children(pid: int) -> list[int]:
    """Those of all its threads, as the system lists them."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it ended meanwhile: its children are others' now
    return found


def table_of_children() -> Callable[[int], list[int]]:
    """The children of each process, from one look at all processes."""
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (words := _stat(name)):
            found.setdefault(int(words[1]), []).append(int(name))
    return lambda pid: found.get(pid, [])


def _lives(pid: int) -> bool:
    words = _stat(str(pid))
    return bool(words) and words[0] not in (b"Z", b"X")


def _heeds(pid: int) -> bool:
    """Whether being asked to end may lead to something; not where that is ignored."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            ignored = file.read().partition(b"\nSigIgn:")[2].split(None, 1)[0]
        return not int(ignored, 16) >> (signal.SIGTERM - 1) & 1
    except (OSError, ValueError, IndexError):
        return False  # gone


def _stat(pid: str) -> list[bytes]:
    """What the system says of a process after its name: state, parent and so on; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def signal_all(pids: list[int], number: int) -> None:
    """Send a signal to each; those that ended meanwhile or belong to others are passed over."""
    for pid in pids:
        if pid > 1:
            try:
                os.kill(pid, number)
            except OSError:
                continue


def _become_subreaper() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _volunteer() -> None:
    """When memory runs out, the command goes before the agent."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("500")
    except OSError:
        pass  # a system without the file, or a higher value already


def _become(
    program: list[str],
    cwd: int,
    status: int,
    confine: Callable[[], object],
    on_terminal: Callable[[list[str], Callable[[], object]], int] | None,
) -> None:
    """In the forked child: own session, own folder, ordinary signals, then the program itself."""
    try:
        os.setsid()
        os.fchdir(cwd)
        _volunteer()
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                try:
                    signal.signal(number, signal.SIG_DFL)
                except (OSError, ValueError):
                    continue  # numbers the C library keeps for itself
        signal.set_wakeup_fd(-1)
        if on_terminal is not None:
            os._exit(on_terminal(program, confine))
        confine()
        os.execvp(program[0], program)
    except OSError as exc:
        os.write(status, f"fail {exc.errno}\n".encode())
    finally:
        os._exit(127)


def _all(fd: int) -> bytes:
    data = b""
    while piece := os.read(fd, 1 << 20):
        data += piece
    os.close(fd)
    return data
