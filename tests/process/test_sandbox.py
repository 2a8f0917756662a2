"""The sandbox through the real program: what runs unasked, what is refused, and why."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from process.program import Program, result_of
from process.server import ServerThread
from workspace.held import HOLD, Held

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def _bwrap(need: Callable[[str], str]) -> None:
    need("bwrap")


def bash(
    tmp_path: Path, command: str, *options: str, env: dict[str, str] | None = None
) -> tuple[Program, dict[str, Any], str]:
    """One command in a headless run: the program, its result object, and what the model was told."""
    steps = [{"text": "x", "calls": [{"name": "bash", "arguments": {"command": command}}]}, {"text": "done"}]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "x", "--output-format", "json", *options, **(env or {}))
        told = server.requests[1].last_result if len(server.requests) > 1 else ""
    return program, result_of(done), told


def test_auto_runs_commands_in_the_sandbox_unasked(tmp_path: Path) -> None:
    program, result, told = bash(
        tmp_path,
        "echo in >inside.txt; echo key=[$LOCAL_KEY]; cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep LOCAL; true",
        "--permission-mode",
        "auto",
    )
    assert (result["exit_code"], result["permission_denials"]) == (0, [])
    assert (program.project / "inside.txt").read_text() == "in\n"
    assert told.startswith("key=[]\nexit code: 0")
    assert os.listdir(program.project) == ["inside.txt"]


@pytest.mark.parametrize("mode", [["--permission-mode", "auto"], ["--yes"], ["--permission-mode", "full"]])
def test_nothing_is_written_outside_and_no_network_is_there(tmp_path: Path, mode: list[str]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.settimeout(0.3)
        _, result, told = bash(
            tmp_path, f"echo x >{outside}/x; exec 3<>/dev/tcp/127.0.0.1/{port}; echo y >/etc/y", *mode
        )
        with pytest.raises(TimeoutError):
            listener.accept()
    assert result["permission_denials"] == []
    assert os.listdir(outside) == []
    assert not os.path.exists("/etc/y")
    assert "Read-only file system" in told
    assert "[this ran in a sandbox" in told


def test_without_the_sandbox_the_same_command_reaches_both(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.settimeout(5)
        bash(
            tmp_path,
            f"echo x >{outside}/x; exec 3<>/dev/tcp/127.0.0.1/{port}",
            "--permission-mode",
            "full",
            "--sandbox",
            "off",
        )
        listener.accept()[0].close()
    assert os.listdir(outside) == ["x"]


def test_network_on_lets_the_sandbox_reach_this_machine(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listener.settimeout(5)
        bash(tmp_path, f"exec 3<>/dev/tcp/127.0.0.1/{port}", "--permission-mode", "auto", "--network", "on")
        listener.accept()[0].close()


def _broken_path(tmp_path: Path) -> str:
    """A PATH whose `bwrap` is there and does not work."""
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "bwrap").write_text("#!/bin/sh\necho no user namespaces here >&2\nexit 1\n")
    (folder / "bwrap").chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_auto_refuses_with_the_reason_where_the_sandbox_does_not_work(tmp_path: Path) -> None:
    program, result, told = bash(
        tmp_path, "touch ran", "--permission-mode", "auto", env={"PATH": _broken_path(tmp_path)}
    )
    assert len(result["permission_denials"]) == 1
    assert "no user namespaces here" in told
    assert os.listdir(program.project) == []


@pytest.mark.parametrize("options", [["--yes"], ["--sandbox", "required"]])
def test_who_relies_on_a_sandbox_is_told_before_anything_runs(tmp_path: Path, options: list[str]) -> None:
    with ServerThread([{"text": "never"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "x", *options, PATH=_broken_path(tmp_path))
        assert server.requests == []
    assert done.returncode == 3
    assert "no user namespaces here" in done.stderr
    assert "--permission-mode full" in done.stderr or "--sandbox auto" in done.stderr


def test_ask_mode_still_asks(tmp_path: Path) -> None:
    program, result, _ = bash(tmp_path, "touch ran", "--permission-mode", "ask")
    assert len(result["permission_denials"]) == 1
    assert os.listdir(program.project) == []


@pytest.mark.parametrize("options", [["--sandbox", "off"], []], ids=["plain", "boxed"])
def test_three_hundred_detached_children_die_with_the_agent(tmp_path: Path, options: list[str]) -> None:
    command = f"{HOLD} for i in $(seq 300); do setsid sleep 77 & done; touch planted; wait"
    steps = [{"text": "x", "calls": [{"name": "bash", "arguments": {"command": command}}]}, {"text": "done"}]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        held = Held(program.project)
        agent = program.start("-p", "x", "--permission-mode", "full", *options)
        end = time.monotonic() + 20
        while not (program.project / "planted").exists():
            assert time.monotonic() < end
            time.sleep(0.02)
        at = time.monotonic()
        agent.send_signal(signal.SIGKILL)
        assert held.end() - at < 0.5
        agent.communicate()


@pytest.mark.parametrize("options", [["--sandbox", "off"], []], ids=["plain", "boxed"])
def test_background_commands_end_with_the_run(tmp_path: Path, options: list[str]) -> None:
    mark = f"92{os.getpid()}"
    begin = {"command": f"echo up; setsid sleep {mark} & sleep {mark}", "background": True}
    steps = [
        {"text": "x", "calls": [{"name": "bash", "arguments": begin}]},
        {"text": "x", "calls": [{"name": "process", "arguments": {"operation": "list"}}]},
        {"text": "done"},
    ]
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "x", "--permission-mode", "full", *options)
        assert done.returncode == 0, done.stderr
        assert server.requests[1].last_result == "up\n[p1 running]"
        assert server.requests[2].last_result.startswith("p1 running: echo up")
    assert not _running(mark)


def test_the_keys_first_copy_is_gone_from_the_agents_environment_block(tmp_path: Path) -> None:
    """What a command without a sandbox could read of its parents, as root too."""
    key = f"unique-key-{os.getpid()}-{time.monotonic_ns()}"
    _, _, told = bash(
        tmp_path,
        "cat /proc/$PPID/environ /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep ^LOCAL_KEY; true",
        "--permission-mode",
        "full",
        "--sandbox",
        "off",
        env={"LOCAL_KEY": key},
    )
    assert "LOCAL_KEY=" + "*" * len(key) in told
    assert key not in told
    assert "exit code: 0" in told


def _running(mark: str) -> list[str]:
    done = subprocess.run(["pgrep", "-f", f"^sleep {mark}"], capture_output=True, text=True, check=False)
    return done.stdout.split()
