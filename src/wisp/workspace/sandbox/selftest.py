"""Trying to get out of the box, for `wisp doctor`: a short list, on this machine, with this user's files.

Each attempt is one that works without a box.  Leaves nothing behind.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from typing import NamedTuple

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.errors import Refused
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

_SCRIPT = r"""
shopt -s globstar dotglob nullglob
try() { name=$1; shift; if ("$@") >/dev/null 2>&1; then echo "$name out"; else echo "$name held"; fi; }
write_home() { echo x >"$HOME/$PROBE"; }
read_state() { for file in "$STATE"/**; do [ -f "$file" ] && return 0; done; return 1; }
read_keys() { [ -n "$(ls -A "$HOME/.ssh")" ]; }
loopback() { exec 3<>"/dev/tcp/127.0.0.1/$PORT"; }
interfaces() { grep -qv -e '^ *lo:' -e '|' /proc/net/dev; }
processes() { set -- /proc/[0-9]*; [ $# -gt 6 ]; }
names() { mkdir .vscode/x || mkdir .wisp/x || echo x >.mcp.json; }
kernel() { : >>/proc/sys/kernel/core_pattern; }
mounts() { mount -t tmpfs none . || unshare -U true; }
for each in write_home read_state read_keys loopback interfaces processes names kernel mounts; do
    try $each $each
done
grep -q '^CapEff:[[:space:]]*0*$' /proc/self/status && echo capabilities held || echo capabilities out
grep -q '^NoNewPrivs:[[:space:]]*1$' /proc/self/status && echo privileges held || echo privileges out
grep -q '^Seccomp:[[:space:]]*2$' /proc/self/status && echo filter held || echo filter out
"""
WORDS = {
    "write_home": "writing in the home folder",
    "read_state": "reading wisp's own files",
    "read_keys": "reading ~/.ssh",
    "loopback": "connecting to a server on this machine",
    "interfaces": "seeing network interfaces",
    "processes": "seeing other processes",
    "names": "making .vscode, .wisp or .mcp.json in the workspace",
    "kernel": "changing kernel settings",
    "mounts": "mounting, or a new user namespace",
    "capabilities": "keeping capabilities",
    "privileges": "gaining privileges by a setuid program",
    "filter": "system calls without a filter",
}


class Attempt(NamedTuple):
    """One way out, and whether it was closed."""

    what: str
    held: bool


def attempts(
    settings: BoxSettings,
    state: str,
    env: Mapping[str, str],
    now: Callable[[], float],
    wall: Callable[[], int],
) -> list[Attempt]:
    """Try everything in a box over an empty workspace.

    Raises:
        Refused: the box could not be built.
    """
    folder = tempfile.mkdtemp(prefix="wisp-doctor-")
    probe = ".wisp-doctor-probe"
    workspace = Workspace(folder)
    box = Box(workspace, settings._replace(network="none", show=()), env.get("PATH", ""), now, wall)
    said = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        given = {
            "PATH": env.get("PATH", "/usr/bin:/bin"),
            "HOME": settings.home,
            "STATE": state,
            "PROBE": probe,
            "PORT": str(listener.getsockname()[1]),
        }
        try:
            if box.prove().kind != "bubblewrap":
                raise Refused("no_sandbox", box.prove().reason)
            box.run(
                ["/bin/bash", "-c", _SCRIPT],
                env=given,
                timeout=30,
                stop=StopToken(),
                output=said.extend,
            )
        finally:
            box.close()
            workspace.close()
            shutil.rmtree(folder, ignore_errors=True)
    answers = dict(line.split(" ", 1) for line in said.decode("utf-8", "replace").splitlines() if " " in line)
    leaked = os.path.join(settings.home, probe)
    if os.path.exists(leaked):
        os.unlink(leaked)
        answers["write_home"] = "out"
    return [Attempt(words, answers.get(name) == "held") for name, words in WORDS.items()]
