"""A command that asks for a terminal gets one of its own, in its box, and nothing else with it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.site import CONFIGS, Config, Consent, Site, each_user


def _run(site: Site, config: Config, command: str, **more: object) -> str:
    call = ("bash", {"command": command, "timeout": 20, "tty": True, **more})
    return site.call(config, "auto", call, person=Consent())[0].text


@pytest.mark.parametrize("config", CONFIGS)
def test_it_is_the_controlling_terminal_of_the_command(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        said = _run(
            make(),
            config,
            "test -t 0 && test -t 1 && test -t 2; echo $?; stty size; echo x >/dev/tty; exit 7",
        )
        assert said == "0\n24 80\nx\nexit code: 7"

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_without_it_there_is_none(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        said = _run(make(), config, "test -t 1; echo $?; (echo x >/dev/tty) 2>/dev/null; echo $?", tty=False)
        assert said == "1\n1\nexit code: 0"

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_who_waits_for_a_key_finds_the_end_of_input(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        began = time.monotonic()
        assert _run(make(), config, "read -r -p 'sure? ' x; echo; echo \"<$x>\"").startswith("sure? ")
        assert time.monotonic() - began < 15

    each_user(work)


@pytest.mark.parametrize("config", ["bubblewrap", "landlock"])
def test_no_terminal_of_anybody_else_can_be_written_to(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        ours, theirs = pty.openpty()
        try:
            name = os.ttyname(theirs)
            os.fchmod(theirs, 0o666)
            os.set_blocking(ours, False)
            assert "exit code: 0" in _run(
                make(), config, f"echo x >{name}; for t in /dev/pts/[0-9]*; do echo x >$t; done; true"
            )
            with pytest.raises(BlockingIOError):
                os.read(ours, 100)
        finally:
            os.close(ours)
            os.close(theirs)

    each_user(work)


TYPES = (
    "python3 -c \"\nimport fcntl, os, termios\nfor name in ('/dev/tty', '/dev/fd/0', '/dev/fd/1', '/dev/fd/2'):\n"
    "    try: fcntl.ioctl(os.open(name, os.O_RDWR), termios.TIOCSTI, b'x')\n    except OSError: pass\n\""
)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("terminal", [False, True], ids=["without", "with its own"])
def test_nothing_is_typed_into_the_persons_terminal(config: Config, terminal: bool) -> None:
    """The agent has one, and a program that it did not start can type into it."""

    def waiting(fd: int) -> int:
        return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0])

    def work(make: Callable[[], Site]) -> None:
        site = make()
        _, theirs = pty.openpty()
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        tty.setraw(theirs)
        said = _run(site, config, TYPES, tty=terminal)
        assert waiting(theirs) == 0, said
        if Path("/proc/sys/dev/tty/legacy_tiocsti").read_text() == "1\n" or os.geteuid() == 0:
            subprocess.run(["/bin/bash", "-c", TYPES], env=site.environment, check=False)
            assert waiting(theirs) > 0, "a program with the terminal can"

    each_user(work)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_what_it_leaves_running_is_gone(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        _run(site, config, "setsid sleep 3 && touch late & (trap '' HUP; sleep 3; touch late) & sleep 0.1")
        time.sleep(3.3)
        assert not (site.work / "late").exists()

    each_user(work)


@pytest.mark.parametrize("config", CONFIGS)
def test_a_program_that_goes_on_can_be_interrupted_by_the_key(config: Config) -> None:
    def work(make: Callable[[], Site]) -> None:
        calls = (
            ("bash", {"command": "sleep 60; echo over", "background": True, "tty": True}),
            ("process", {"operation": "write", "id": "p1", "input": "\x03", "wait": 20}),
            ("process", {"operation": "read", "id": "p1", "wait": 20}),
        )
        said = [outcome.text for outcome in make().call(config, "auto", *calls, person=Consent())]
        assert "p1 ended with exit code 130" in said[2], said

    each_user(work)
