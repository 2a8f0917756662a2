"""The tools that people install programs with: `uvx`, `uv tool`, `pipx`, and `pip` as a user has it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from peers.others import PEERS, there

ROOT = Path(__file__).resolve().parents[2]
BIN = PEERS / "installers" / "bin"

pytestmark = [pytest.mark.peer, pytest.mark.process, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as a release is."""
    out = tmp_path_factory.mktemp("wheel")
    argv = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(argv, check=True, capture_output=True)
    [found] = out.glob("*.whl")
    return found


@pytest.mark.parametrize(
    "argv",
    [
        [["uvx", "--from", "WHEEL", "wisp", "demo"]],
        [["uv", "tool", "install", "WHEEL"], ["wisp", "demo"]],
        [["pipx", "run", "--spec", "WHEEL", "wisp", "demo"]],
        [["pipx", "install", "WHEEL"], ["wisp", "demo"]],
        [["PYTHON", "-m", "venv", "HOME/env"], ["HOME/env/bin/pip", "install", "-q", "WHEEL"], ["HOME/env/bin/wisp", "demo"]],
    ],
    ids=["uvx", "uv tool install", "pipx run", "pipx install", "pip install"],
)  # fmt: skip
def test_installed_by_it_the_demo_repairs_its_project(
    argv: list[list[str]], wheel: Path, tmp_path: Path
) -> None:
    """With the dependencies that the index has today, in a home of its own."""
    there(BIN / "uv")
    env = {
        **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))},
        "PATH": f"{tmp_path}/bin:{BIN}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "UV_TOOL_BIN_DIR": f"{tmp_path}/bin",
        "PIPX_BIN_DIR": f"{tmp_path}/bin",
        "PIPX_HOME": f"{tmp_path}/pipx",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    for words in argv:
        filled = [
            w.replace("WHEEL", str(wheel)).replace("HOME", str(tmp_path)).replace("PYTHON", sys.executable)
            for w in words
        ]
        done = subprocess.run(
            filled,
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert "return a + b" in done.stdout
    assert "OK" in done.stdout
