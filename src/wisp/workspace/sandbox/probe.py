"""What can box commands here: found out once, by doing it.

Settings and versions are not asked, because distributions forbid pieces in many ways.  The answer has a
reason in words a person can act on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Literal, NamedTuple

from wisp.workspace.errors import Refused
from wisp.workspace.process import run
from wisp.workspace.sandbox import landlock, seccomp
from wisp.workspace.sandbox.bubblewrap import Spec, arguments, packed
from wisp.workspace.stop import StopToken

BoxKind = Literal["bubblewrap", "landlock", "none"]
_FIRST_SECONDS, _SECONDS = 4.0, 10.0


class Proof(NamedTuple):
    """What works."""

    kind: BoxKind
    reason: str
    """Why not something better; for `bubblewrap` what was seen."""


def prove(bwrap: str, now: Callable[[], float], missing: str = "is not installed") -> Proof:
    """Run the smallest command in a box and say what came of it.

    Args:
        missing: what is wrong with bubblewrap where `bwrap` is empty.
    """
    if sys.platform != "linux":
        return Proof("none", f"no sandbox is built for {sys.platform} yet")
    if not seccomp.supported(os.uname().machine):
        return Proof("none", f"there is no system-call filter for {os.uname().machine} yet")
    if not bwrap:
        return _floor(f"bubblewrap (bwrap) {missing}", now)
    said = bytearray()
    try:
        code = _smallest(bwrap, now, said, _FIRST_SECONDS)
        if code is None:  # ended for taking too long: on a busy machine that says nothing yet
            code = _smallest(bwrap, now, said, _SECONDS)
    except Refused as exc:
        return _floor(f"{bwrap} cannot be started: {exc}", now)
    if code == 0:
        return Proof("bubblewrap", "a command ran in it")
    words = " ".join(said.decode("utf-8", "replace").split()) or f"exit code {code}"
    return _floor(f"{bwrap} does not work here: {words[:300]}", now)


def _floor(reason: str, now: Callable[[], float]) -> Proof:
    """What is left where bubblewrap does not run."""
    if not landlock.version():
        return Proof("none", f"{reason}, and this kernel has no Landlock")
    program = seccomp.build(os.uname().machine, sockets=False)
    rules = landlock.packed((), landlock.readable(()), False, program)
    said = bytearray()
    try:
        code = run_confined(["/bin/sh", "-c", "exit 0"], rules, now, said.extend)
    except Refused as exc:
        return Proof("none", f"{reason}, and Landlock does not work: {exc}")
    if code == 0:
        return Proof("landlock", f"{reason}; Landlock limits commands but is not enough to run them unasked")
    return Proof("none", f"{reason}, and under Landlock a command ended with {code}")


def run_confined(
    argv: list[str], rules: bytes, now: Callable[[], float], output: Callable[[bytes], object]
) -> int | None:
    """Run a short command under Landlock; its exit code."""
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    confine = descriptor("rules", rules)
    try:
        return run(
            argv,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin"},
            timeout=_SECONDS,
            stop=StopToken(),
            now=now,
            output=output,
            fds=(confine,),
        ).code
    finally:
        os.close(folder)
        os.close(confine)


def descriptor(name: str, data: bytes) -> int:
    """`data` in a file without a name, at its start, for a program to read."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _smallest(bwrap: str, now: Callable[[], float], said: bytearray, seconds: float) -> int | None:
    spec = Spec((), "/", {"PATH": "/usr/bin:/bin"}, False, os.geteuid() == 0)
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    args = descriptor("args", packed(arguments(spec)))
    filter_ = descriptor("filter", seccomp.build(os.uname().machine))
    try:
        ending = run(
            [bwrap, "--seccomp", str(filter_), "--args", str(args), "--", "/bin/sh", "-c", "exit 0"],
            cwd=folder,
            env={},
            timeout=seconds,
            stop=StopToken(),
            now=now,
            output=said.extend,
            guarded=False,
            fds=(filter_, args),
        )
    finally:
        for fd in (folder, args, filter_):
            os.close(fd)
    return ending.code
