"""A program with a project and a model that follows a script, for every test of the screen in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

Open = Callable[..., tuple[Program, ServerThread]]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Open]:
    """Makes a program with a project, and a server that follows the steps."""
    servers: list[ServerThread] = []

    def make(*steps: dict[str, Any], more: str = "") -> tuple[Program, ServerThread]:
        server = ServerThread(steps, lenient=True)
        servers.append(server.__enter__())
        url = server.base_url("openai-chat")
        program = Program(tmp_path / "home", tmp_path / "work", url=url, more=more)
        (program.project / "calculator.py").write_text("def add(a, b):\n    return a - b\n")
        return program, server

    yield make
    for server in servers:
        server.__exit__()
