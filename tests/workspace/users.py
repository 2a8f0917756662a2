"""Running a piece of a test as an ordinary user: security cases hold for root and for others."""

from __future__ import annotations

import ctypes  # noqa: F401  (loaded before the user changes: the interpreter may be unreadable after)
import difflib  # noqa: F401
import os
import struct  # noqa: F401
import subprocess  # noqa: F401
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

NOBODY = 65534
_SHUT = [str(place) for place in Path(__file__).resolve().parents if not place.stat().st_mode & 0o001]
"""Folders above the checkout that only their owner can enter, as a home of root's is."""


def need_open_checkout(uid: int) -> None:
    """Skip the test, in CI fail it, where user `uid` cannot enter the checkout."""
    if _SHUT and os.geteuid() != uid:
        said = f"an ordinary user cannot enter {_SHUT[-1]}, where the checkout is; clone it elsewhere"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(said)


def as_user(work: Callable[[], object], uid: int = NOBODY) -> None:
    """Run `work` in a child process as `uid` when we are root, as ourselves otherwise; fail if it fails."""
    need_open_checkout(uid)
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            work()
            code = 0
        except BaseException:
            os.write(write, traceback.format_exc().encode())
        finally:
            os._exit(code)
    os.close(write)
    with open(read, "rb") as file:
        said = file.read().decode()
    _, status = os.waitpid(pid, 0)
    assert status == 0, said
