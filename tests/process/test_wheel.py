"""The built wheel, in an empty environment, outside the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.process, pytest.mark.slow]


def test_the_wheel_holds_everything_the_program_needs(tmp_path: Path) -> None:
    """Data files and the type marker are in; tests and examples are not; the demo runs from it."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.glob("wisp_agent-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    assert "wisp/py.typed" in names
    assert "wisp/context/prompts/base.md" in names
    assert "wisp/providers/catalog.json" in names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "benchmarks/"))]

    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import wisp; assert 'site' in wisp.__file__, wisp.__file__\n"
        "from wisp.launch import main; sys.exit(main(['demo']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "return a + b" in done.stdout
    assert "OK" in done.stdout


def test_the_wheels_metadata_names_no_registry_and_pins_nothing(tmp_path: Path) -> None:
    """Users get compatible ranges."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["name"] == "wisp-agent"
    assert project["license"] == "MIT"
    assert project["requires-python"] == ">=3.11"
    for requirement in project["dependencies"]:
        assert "==" not in requirement.split(";")[0]
    assert project["scripts"] == {"wisp": "wisp.launch:entry"}
