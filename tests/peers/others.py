"""Where the programs of others are, and how they are started; `make peers` installs them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from process.program import Program

PEERS = Path(__file__).resolve().parents[2] / ".venv" / "peers"
LLMOCK = PEERS / "llmock" / "bin" / "llmock"
NODE = PEERS / "node" / "bin" / "node"
ACPX = PEERS / "acpx" / "node_modules" / ".bin" / "acpx"
AIMOCK = PEERS / "aimock" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"


def there(path: Path) -> Path:
    """`path`, or no test: skipped at home, a failure in CI."""
    if not path.exists():
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"{path.name} is not installed; `make peers` does that")
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def served(argv: list[str], port: int) -> Iterator[str]:
    """A program that listens on `port`, until the block is left."""
    # A group of its own: what is started is often a wrapper whose child would outlive it.
    running = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        end = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert running.poll() is None, f"{argv[0]} ended with {running.returncode}"
            assert time.monotonic() < end, f"{argv[0]} does not listen"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        for how in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(running.pid, how)
            running.wait(20)


def post(url: str, value: Any) -> None:
    body = json.dumps(value).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    urllib.request.urlopen(request, timeout=10).close()


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def program(folder: Path, api: str, url: str) -> Program:
    return Program(folder / "home", folder / "work", api=api, url=url)
