"""A user's program passes `mypy --strict`, and a wrong one does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def _checked(program: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Away from the checkout and its configuration, as users are."""
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", str(program)],
        cwd=program.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_a_user_writes_is_typed(tmp_path: Path) -> None:
    """Also that an argument of the wrong type is found: an unused `type: ignore` would be reported."""
    program = tmp_path / "user.py"
    program.write_text((HERE / "user.py").read_text())
    done = _checked(program, tmp_path / "cache")
    assert done.returncode == 0, done.stdout + done.stderr

    program.write_text("import wisp\n\nwisp.Agent(max_turns='four')\nwisp.Nothing\n")
    wrong = _checked(program, tmp_path / "cache")
    assert 'incompatible type "str"' in wrong.stdout
    assert 'no attribute "Nothing"' in wrong.stdout
