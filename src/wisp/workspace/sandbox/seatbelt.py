"""The profile that macOS's Seatbelt would take for the same box.

Generated and unit-tested only: it has not been run on macOS, so nothing uses it yet and no promise rests on
it.  Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

_BASE = """\
(version 1)
(deny default)
(allow process-fork)
(allow process-exec)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read*)
(allow file-read-metadata)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/dtracehelper"))
(allow file-ioctl (literal "/dev/null"))
"""


def profile(
    write: Sequence[str], frozen: Sequence[str], hidden: Sequence[str], *, network: bool, socket: str = ""
) -> str:
    """Rules in order; of two that match, Seatbelt takes the later.

    Args:
        write: folders that may be written.
        frozen: names within those that may not, whether they are there or not.
        hidden: places that may not be read either.
        network: everything may be reached.
        socket: the proxy's Unix socket, the only thing that may be reached otherwise.
    """
    rows = [_BASE.rstrip()]
    rows += [f"(allow file-write* (subpath {_quoted(path)}))" for path in write]
    for path in frozen:
        rows.append(f"(deny file-write* (subpath {_quoted(path)}))")
    for path in hidden:
        rows.append(f"(deny file-read* file-write* (subpath {_quoted(path)}))")
    if network:
        rows.append("(allow network*)\n(allow system-socket)")
    elif socket:
        rows.append(f"(allow network-outbound (literal {_quoted(socket)}))")
    return "\n".join(rows) + "\n"


def _quoted(path: str) -> str:
    """A string as the profile language reads it."""
    if any(ord(char) < 32 or char == "\x7f" for char in path):
        raise ValueError("a control character cannot stand in a profile")
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
