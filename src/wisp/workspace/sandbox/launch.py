"""Starting one command in a planned box, and knowing whether it ever began.

The launcher and the command share one output.  A line on a channel of its own says that the box stands and
the command begins; what was said before that are the launcher's words, never the command's.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Sequence

from wisp.workspace.errors import Refused
from wisp.workspace.namespace import Boxed
from wisp.workspace.process import Ending, run
from wisp.workspace.sandbox.bubblewrap import Spec, arguments, packed
from wisp.workspace.sandbox.plan import FORWARD, PROXY_PORT, PROXY_SOCKET
from wisp.workspace.sandbox.probe import descriptor
from wisp.workspace.stop import StopToken

_BASH = "/bin/bash"
_INSIDE = r"""
s=$1; n=$2; y=$3; w=$4; k=0; shift 4; printf 'begun\n' >&"$s"
ulimit -c 0; [ "$n" = 0 ] || ulimit -u "$n" 2>/dev/null
exec 9>&2 2>/dev/null
if [ -n "$y" ]; then
    exec 7< <(exec "$y" -I -S "$w" {port} {socket} 9>&- {gone})
    k=$!
    read -r -t 10 x <&7 || { echo 'the way to the allowed hosts could not be opened' >&9; exit 125; }
    exec 7<&-
fi
p=(/proc/[0-9]*); b=${#p[@]}
"$@" 2>&9 9>&- {gone}
c=$?
for ((i = 0; i < 12; i++)); do
    p=(/proc/[0-9]*)
    [ ${#p[@]} -le "$b" ] && { printf 'empty\n' >&"$s"; exit $c; }
    sleep 0.02
done
for q in "${p[@]}"; do
    q=${q#/proc/}
    [ "$q" != "$k" ] && [ "$q" -gt $$ ] && read -r x <"/proc/$q/comm" && printf 'left %s\n' "$x" >&"$s"
done
exit $c
"""
"""Runs the command, gives what it left in the background a moment, and names what is still there."""
PROCESSES = 4096
"""Most processes of one box, where the system counts them for an ordinary user."""


class NotStarted(Refused):
    """The box could not be built; nothing ran."""


class _Channel:
    """What the box says beside the output."""

    def __init__(self) -> None:
        self.read, write = os.pipe()
        self.write = fcntl.fcntl(write, fcntl.F_DUPFD_CLOEXEC, 30)  # a number no script uses for itself
        os.close(write)
        os.set_blocking(self.read, False)
        self._said = b""

    @property
    def begun(self) -> bool:
        """Whether the command was started."""
        return self._said.startswith(b"begun\n") or self._look().startswith(b"begun\n")

    def empty(self) -> bool:
        """Whether nothing outlived the command."""
        return self._look().endswith(b"empty\n")

    @property
    def left(self) -> tuple[str, ...]:
        """Names of processes that outlived the command."""
        lines = self._look().decode("utf-8", "replace").split("\n")
        return tuple(line[5:] for line in lines if line.startswith("left "))[:8]

    def _look(self) -> bytes:
        try:
            self._said += os.read(self.read, 65536)
        except BlockingIOError:
            pass  # nothing new
        return self._said

    def close(self) -> None:
        os.close(self.read)
        os.close(self.write)


def launch(
    launcher: Callable[[list[str]], list[str]],
    spec: Spec,
    program: bytes,
    argv: Sequence[str],
    *,
    folder: int,
    timeout: float,
    stop: StopToken,
    now: Callable[[], float],
    output: Callable[[bytes], object],
    stdin: int = -1,
    errors: Callable[[bytes], object] | None = None,
) -> Ending:
    """Run `argv` in the box `spec` under the system-call filter `program`.

    Args:
        launcher: makes the whole command of the launcher's options.

    Raises:
        NotStarted: the launcher gave up; its words are in the message.
    """
    channel = _Channel()
    words = bytearray()
    args, filter_ = descriptor("args", packed(arguments(spec))), descriptor("filter", program)
    data = [int(mount.source) for mount in spec.mounts if mount.kind == "data"]
    info_read, info_write = os.pipe()

    def once_begun(sink: Callable[[bytes], object]) -> Callable[[bytes], object]:
        def take(piece: bytes) -> object:
            if channel.begun:
                return sink(piece)
            words.extend(piece)
            return len(words) < 65536

        return take

    given = {"--seccomp": filter_, "--info-fd": info_write, "--args": args}
    options = [word for name, fd in given.items() for word in (name, str(fd))]
    try:
        ending = run(
            launcher([*options, "--", *_inside(channel.write, spec), *argv]),
            cwd=folder,
            env={},
            timeout=timeout,
            stop=stop,
            now=now,
            output=once_begun(output),
            errors=once_begun(errors) if errors is not None else None,
            guarded=False,
            fds=(filter_, args, info_write, channel.write, *data),
            boxed=Boxed(info_read, info_write, channel.empty),
            stdin=stdin,
        )
        if ending.how == "exited" and not channel.begun:
            said = " ".join(words.decode("utf-8", "replace").split()) or f"exit code {ending.code}"
            raise NotStarted("sandbox_failed", f"the sandbox could not be built: {said[:300]}")
        return ending._replace(left=channel.left)
    finally:
        channel.close()
        for fd in (args, filter_, info_read):
            os.close(fd)


def _inside(left: int, spec: Spec) -> list[str]:
    script = _INSIDE.replace("{gone}", f"{left}>&-")
    script = script.replace("{port}", str(PROXY_PORT)).replace("{socket}", PROXY_SOCKET)
    limit = "0" if spec.as_root else str(PROCESSES)
    forward = (sys.executable, FORWARD) if spec.proxied else ("", "")
    return [_BASH, "--noprofile", "--norc", "-c", script, "box", str(left), limit, *forward]
