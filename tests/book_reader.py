"""A reader of the book: a copy of the examples, an empty temporary folder, and every promised Python."""

import glob
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]


def pythons() -> dict[str, str]:
    """The newest installed interpreter of each promised version; at least the one that runs the tests."""
    found: dict[str, str] = {}
    for version in ("3.11", "3.12", "3.13"):
        installed = glob.glob(str(Path.home() / f".pyenv/versions/{version}.*/bin/python3"))
        if installed:
            found[version] = max(installed)
    return found or {"this": sys.executable}


PYTHONS = pythons()


class Reader:
    """Someone with a copy of the examples and an empty temporary folder."""

    def __init__(self, root: Path) -> None:
        self.checkout = root / "checkout"
        self.temporary = root / "temporary"
        self.temporary.mkdir()
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / "examples", self.checkout / "examples", ignore=ignore)
        self.before = self.state()
        self.environment = {"PATH": os.defpath, "TMPDIR": str(self.temporary), "HOME": str(root)}

    def start(self, python: str, command: str, *flags: str) -> subprocess.Popen[str]:
        number, *arguments = command.split()
        module = f"examples.crafting_agents.checkpoint_{number}"
        return subprocess.Popen(
            [python, *flags, "-m", module, *arguments],
            cwd=self.checkout,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, python: str, command: str, *flags: str) -> tuple[int, str, str]:
        with self.start(python, command, *flags) as process:
            out, err = process.communicate(timeout=60)
        self.check_nothing_remains(process)
        return process.returncode, out, err

    def state(self) -> dict[str, str]:
        """Every file of the checkout but Python's own byte code."""
        return {
            str(file.relative_to(self.checkout)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(self.checkout.rglob("*"))
            if file.is_file() and file.parent.name != "__pycache__"
        }

    def check_nothing_remains(self, process: subprocess.Popen[str]) -> None:
        assert list(self.temporary.iterdir()) == []
        assert self.state() == self.before
        assert wait_until(lambda: not group_exists(process.pid)), "a process is still running"


def group_exists(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(test: Callable[[], bool], seconds: float = 6) -> bool:
    deadline = time.monotonic() + seconds
    while not test():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def send_after(process: subprocess.Popen[str], moment: str, send: Callable[[], None]) -> str:
    """Send once a line begins like this, then read to the end; return all that was printed."""
    seen = ""
    for line in process.stdout:
        seen += line
        if line.startswith(moment):
            send()
            break
    else:
        pytest.fail(f"{moment!r} never came: {seen}")
    seen += process.stdout.read()
    assert process.stderr.read() == ""
    return seen
