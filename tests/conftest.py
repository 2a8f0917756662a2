"""What holds for every test: no network beyond this machine, no inherited configuration."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

# At home every run looks at new examples; CI looks at the same ones, so that its answer is about the change.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

_connect = socket.socket.connect


def _only_here(self: socket.socket, address: Any) -> None:
    host = address[0] if isinstance(address, tuple) else ""
    if isinstance(address, tuple) and not str(host).startswith(("127.", "::1", "localhost")):
        raise AssertionError(f"a test tried to reach {address!r}")
    _connect(self, address)


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    socket.socket.connect = _only_here  # type: ignore[method-assign]
    yield
    socket.socket.connect = _connect  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _clean_environment() -> Iterator[None]:
    gone = {
        name: os.environ.pop(name)
        for name in list(os.environ)
        if (name.startswith("WISP_") and name != "WISP_SOAK")
        or name.endswith(("_API_KEY", "_BASE_URL"))
        or name.lower().endswith("_proxy")
    }
    yield
    os.environ.update(gone)


@pytest.fixture
def need() -> Callable[[str], str]:
    """The path of a program; a test without it is skipped at home and fails in CI."""

    def find(program: str) -> str:
        path = shutil.which(program)
        if path is None and os.environ.get("CI"):
            pytest.fail(f"{program} is missing; CI installs it")
        if path is None:
            pytest.skip(f"{program} is not installed")
        return path

    return find
