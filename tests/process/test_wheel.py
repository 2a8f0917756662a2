"""What is shipped: built twice it is the same, and installed it works, outside the checkout."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from process.server import ServerThread

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]


def build(source: Path, out: Path, *what: str, epoch: str = "1700000000", umask: int = 0o022) -> list[Path]:
    """Build with what is installed here; another time zone and umask are not to matter."""
    subprocess.run(
        [sys.executable, "-m", "build", *what, "--no-isolation", "--outdir", str(out), str(source)],
        check=True,
        capture_output=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONDONTWRITEBYTECODE": "1"},
        umask=umask,
    )
    return sorted(out.iterdir())


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that are under version control, without anything that lies about here."""
    target = tmp_path_factory.mktemp("source") / "tree"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    [found] = build(tree, tmp_path_factory.mktemp("wheel"), "--wheel")
    return found


def _digests(files: list[Path]) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_built_twice_it_is_the_same_to_the_byte(tree: Path, tmp_path: Path) -> None:
    """In another folder, at another time, with other rights; and the wheel of the sdist is the wheel of the tree."""
    first = build(tree, tmp_path / "one", "--sdist", "--wheel")
    other = tmp_path / "elsewhere" / "deeper"
    shutil.copytree(tree, other)
    for path in other.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    second = build(other, tmp_path / "two", "--sdist", "--wheel", umask=0o077)
    assert _digests(first) == _digests(second)

    sdist = next(file for file in first if file.name.endswith(".tar.gz"))
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    again = build(unpacked, tmp_path / "three", "--wheel")
    assert _digests(again).items() <= _digests(first).items()
    for needed in ("Makefile", "tests/conftest.py", "requirements/dev.txt", "Dockerfile", "SECURITY.md"):
        assert (unpacked / needed).exists(), needed


def test_the_wheel_holds_everything_the_program_needs(wheel: Path) -> None:
    """Data files and the type marker are in; tests and examples are not."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "wisp/py.typed" in names
    assert "wisp/context/prompts/base.md" in names
    assert "wisp/providers/catalog.json" in names
    assert [name for name in names if name.endswith("share/man/man1/wisp.1")]
    assert not [name for name in names if name.startswith(("tests/", "examples/", "benchmarks/"))]
    in_tree = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src/wisp").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == in_tree


def test_installed_from_the_wheel_it_works_as_a_command_and_as_a_library(wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment that lends only the dependencies; nothing of the checkout is in reach."""
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, capture_output=True)
    python = str(place / "bin/python")
    pip = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--disable-pip-version-check",
        str(wheel),
    ]
    subprocess.run(pip, check=True, capture_output=True)
    lent = tmp_path / "lent"
    lent.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "wisp" not in entry.name and not entry.name.endswith(".pth"):
            (lent / entry.name).symlink_to(entry)
    [site] = (place / "lib").glob("python*/site-packages")
    (site / "lent.pth").write_text(f"{lent}\n")
    home = {"PATH": f"{place}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "WISP_HOME": str(tmp_path / "home")}

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            args,
            cwd=tmp_path,
            env=home,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    where = run(python, "-c", "import wisp; print(wisp.__file__, wisp.Agent.__module__)")
    assert str(place) in where.stdout and "wisp.agent" in where.stdout, where.stderr
    version = run("wisp", "--version")
    assert version.stdout.startswith("wisp ") and version.returncode == 0
    demo = run("wisp", "demo")
    assert demo.returncode == 0, demo.stderr
    assert "return a + b" in demo.stdout and "OK" in demo.stdout
    with ServerThread([{"text": "Hello."}]) as server:
        done = run("wisp", "-p", "hi", "--base-url", server.base_url("openai-chat"), "--model", "m")
        assert (done.returncode, done.stdout) == (0, "Hello.\n")
    assert (place / "share/man/man1/wisp.1").exists()


def test_the_wheels_metadata_names_no_registry_and_pins_nothing(wheel: Path) -> None:
    """Users get compatible ranges."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["name"] == "wisp-agent"
    assert project["license"] == "MIT"
    assert project["requires-python"] == ">=3.11"
    for requirement in project["dependencies"]:
        assert "==" not in requirement.split(";")[0]
    assert project["scripts"] == {"wisp": "wisp.launch:entry"}
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("METADATA")]
        metadata = archive.read(name).decode()
    assert not re.search(r"^Requires-Dist:[^;\n]*(==|https?:)", metadata, re.MULTILINE)


def test_the_container_runs_as_an_ordinary_user_and_copies_nothing_private() -> None:
    """Read, not built: a daemon is not there in tests."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    steps = [line for line in lines if line and not line.startswith(("#", " "))]
    last = steps[max(n for n, line in enumerate(steps) if line.startswith("FROM")) :]
    assert "USER wisp" in last and last.index("USER wisp") < last.index('ENTRYPOINT ["wisp"]')
    assert not [line for line in last if line.startswith("COPY") and "--from=build" not in line]
    assert not [line for line in steps if re.search(r"(?i)(key|token|secret)=", line)]
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv"} <= set(ignored)
