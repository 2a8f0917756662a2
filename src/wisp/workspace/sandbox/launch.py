"""Starting one command: in a planned box, knowing whether it ever began, or without the launcher.

What the launcher says goes to a channel of its own, as does what a watcher of ours inside has to say; the
output is the command's alone.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from wisp.workspace.errors import Refused
from wisp.workspace.namespace import Boxed
from wisp.workspace.process import Ending, run
from wisp.workspace.sandbox.bubblewrap import Mount, Spec, arguments, packed
from wisp.workspace.sandbox.mounted import astray
from wisp.workspace.sandbox.plan import FORWARD, PROXY_PORT, PROXY_SOCKET
from wisp.workspace.sandbox.probe import descriptor
from wisp.workspace.stop import StopToken

_SHELL = "/bin/sh"
_INSIDE = r"""
exec 3>&2 2>/dev/null
[ "$WISP_BOX" = "$1" ] || exit 125
unset WISP_BOX
n=$2; y=$3; w=$4; k=0; shift 4
echo made >&3
read -r x <&3 && [ "$x" = go ] || exit 125
echo begun >&3
ulimit -c 0
[ "$n" = 0 ] || ulimit -u "$n" || ulimit -p "$n"
if [ -n "$y" ]; then
    k=$("$y" -I -S "$w" {port} {socket} 3>&-) || {
        echo 'the way to the allowed hosts could not be opened'; exit 125
    }
fi
count() { p=$#; }
count /proc/[0-9]*
(exec "$@" 2>{errors} 3>&-)
c=$?; i=0
while [ $i -lt 12 ]; do
    set -- /proc/[0-9]*
    [ $# -le "$p" ] && { echo empty >&3; exit $c; }
    sleep 0.02; i=$((i + 1))
done
for q; do
    q=${q#/proc/}
    [ "$q" != "$k" ] && [ "$q" -gt $$ ] && read -r x <"/proc/$q/comm" && printf 'left %s\n' "$x" >&3
done
exit $c
"""
"""Runs the command, gives what it left in the background a moment, and names what is still there.

It runs nothing unless the last of what the launcher was to be told has arrived: an agent that is killed
meanwhile leaves it with a part, which may make a box without covers.  Nor before we have seen that the box is
as it was planned.  For any POSIX shell: the smallest one
starts in half the time of bash.  Processes are limited by `-u`, or in some shells by `-p`.
"""
PROCESSES = 4096
"""Most processes of one box, where the system counts them for an ordinary user."""


class Job(NamedTuple):
    """What to run in a box, and who gets what it says; as the arguments of `run`."""

    argv: Sequence[str]
    env: Mapping[str, str]
    timeout: float
    stop: StopToken
    output: Callable[[bytes], object]
    errors: Callable[[bytes], object] | None = None
    stdin: int = -1


class NotStarted(Refused):
    """The box could not be built; nothing ran."""


class _Channel:
    """What is said beside the output; `made` is called when the box stands and its command waits."""

    def __init__(self, made: Callable[[], str]) -> None:
        self._said = b""
        self._made: Callable[[], str] | None = made
        self._wrong = ""

    def take(self, piece: bytes) -> bool:
        """The next piece; False when it is too much."""
        self._said += piece
        if self._made and b"made" in self._said.split(b"\n"):
            self._wrong = self._made()
            self._made = None
        return len(self._said) < 65536

    @property
    def begun(self) -> bool:
        """Whether the command was started."""
        return b"begun" in self._said.split(b"\n")

    @property
    def words(self) -> str:
        """What the launcher said, or what we found."""
        return self._wrong or " ".join(self._said.decode("utf-8", "replace").split())

    def empty(self) -> bool:
        """Whether nothing outlived the command."""
        return self._said.endswith(b"empty\n")

    @property
    def left(self) -> tuple[str, ...]:
        """Names of processes that outlived the command."""
        lines = self._said.decode("utf-8", "replace").split("\n")
        return tuple(line[5:] for line in lines if line.startswith("left "))[:8]


def launch(
    launcher: Callable[[list[str]], list[str]],
    planned: Callable[[], Spec],
    program: bytes,
    job: Job,
    *,
    folder: int,
    now: Callable[[], float],
    data: Sequence[int] = (),
    proxied: bool = False,
) -> Ending:
    """Run `job` in a box under the system-call filter `program`; its environment is what the plan says.

    Args:
        launcher: makes the whole command of the launcher's options.
        planned: what the box is to be; asked while the launcher is already being loaded.
        data: descriptors that the plan names.
        proxied: some hosts can be reached through a proxy.

    Raises:
        NotStarted: the launcher gave up; its words are in the message.
    """
    filter_ = descriptor("filter", program)
    args_read, args_write = os.pipe()
    info_read, info_write = os.pipe()
    mine = {args_read, args_write, filter_, info_read}
    also, whole = _beyond(job.errors), os.urandom(8).hex()
    mounts: list[Mount] = []
    ours, theirs = socket.socketpair()  # what waits in the box is answered on the line it speaks on
    line = ours.detach(), theirs.detach()

    def done(*fds: int) -> None:
        for fd in fds:
            mine.remove(fd)
            os.close(fd)

    def started() -> None:
        done(args_read)
        spec = planned()
        mounts.extend(spec.mounts)
        _write(args_write, packed([*arguments(spec), "--setenv", "WISP_BOX", whole]))
        done(args_write)

    def made() -> str:
        boxed.learn()
        try:
            wrong = astray(boxed.pid, mounts)
        except OSError as exc:
            wrong = exc.strerror or "it is gone"
        _write(line[0], b"no\n" if wrong else b"go\n")
        return wrong and f"{wrong} was changed meanwhile"

    channel = _Channel(made)
    boxed = Boxed(info_read, info_write, line, channel.empty, started, also)

    given = {"--seccomp": filter_, "--info-fd": info_write, "--args": args_read}
    options = [word for name, fd in given.items() for word in (name, str(fd))]
    try:
        ending = run(
            launcher([*options, "--", *_inside(whole, also[1] if also else -1, proxied), *job.argv]),
            cwd=folder,
            env={},
            timeout=job.timeout,
            stop=job.stop,
            now=now,
            output=job.output,
            errors=channel.take,
            guarded=False,
            fds=(filter_, args_read, info_write, *(also[1:2] if also else ()), *data),
            boxed=boxed,
            stdin=job.stdin,
        )
        if ending.how == "exited" and not channel.begun:
            said = channel.words or f"exit code {ending.code}"
            raise NotStarted("sandbox_failed", f"the sandbox could not be built: {said[:300]}")
        return ending._replace(left=channel.left)
    finally:
        for fd in mine:
            os.close(fd)


def direct(
    job: Job, folder: int, now: Callable[[], float], *, rules: bytes = b"", tty: bool = False
) -> Ending:
    """Run `job` without the launcher: under Landlock's `rules` (`landlock.packed`) where there are any.

    Raises:
        Refused: it cannot be started.
    """
    fds = (descriptor("rules", rules),) if rules else ()
    try:
        return run(
            job.argv,
            cwd=folder,
            env=job.env,
            timeout=job.timeout,
            stop=job.stop,
            now=now,
            output=job.output,
            errors=job.errors,
            fds=fds,
            stdin=job.stdin,
            tty=tty,
        )
    finally:
        for fd in fds:
            os.close(fd)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except BrokenPipeError:
        pass  # the launcher gave up; it says why


def _beyond(sink: Callable[[bytes], object] | None) -> tuple[int, int, Callable[[bytes], object]] | None:
    """A pipe for standard error, where that is taken apart, under a number no shell uses for itself."""
    if sink is None:
        return None
    read, write = os.pipe()
    high = fcntl.fcntl(write, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(write)
    return read, high, sink


def _inside(whole: str, errors: int, proxied: bool) -> list[str]:
    script = _INSIDE.replace("{errors}", f"/proc/self/fd/{errors}" if errors >= 0 else "&1")
    script = script.replace("{port}", str(PROXY_PORT)).replace("{socket}", PROXY_SOCKET)
    limit = "0" if os.geteuid() == 0 else str(PROCESSES)
    forward = (sys.executable, FORWARD) if proxied else ("", "")
    return [_SHELL, "-c", script, "box", whole, limit, *forward]
