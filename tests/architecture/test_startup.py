"""What is imported at start, counted, not timed: the promise behind the fast start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPORT = "import sys, json; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"


def _modules(code: str, *argv: str, cwd: Path | None = None) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv = {['wisp', *argv]!r}\n{code}\n{REPORT}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


def _bare() -> set[str]:
    return _modules("")


def test_import_wisp_loads_nothing_else() -> None:
    """No asyncio, no msgspec: names resolve on first use."""
    extra = _modules("import wisp") - _bare()
    ours = {name for name in extra if name.split(".")[0] == "wisp"}

    assert {"wisp", "wisp._version"} == ours
    assert not {"asyncio", "msgspec", "argparse", "httpx2", "h11", "json", "dataclasses"} & extra


def test_version_loads_no_argparse_and_no_asyncio() -> None:
    """The quickest question has the quickest answer."""
    found = _modules("from wisp.launch import main\nmain()", "--version")

    assert not {"asyncio", "msgspec", "argparse", "httpx2", "h11"} & found


def test_help_loads_argparse_and_no_asyncio() -> None:
    """Help needs no event loop and no HTTP."""
    found = _modules("from wisp.launch import main\nmain()", "--help")

    assert "argparse" in found
    assert not {"asyncio", "msgspec", "httpx2", "h11", "wisp.loop", "wisp.host.build"} & found


@pytest.mark.parametrize(
    "forbidden",
    [
        "httpx2",
        "textual",
        "mcp",
        "pydantic",
        "openai",
        "anthropic",
        "tomlkit",
        "importlib.metadata",
        "pathspec",
        "difflib",
        "email",
        "http.client",
        "keyring",
        "xllamacpp",
        "urllib.parse",
        "wisp.host.credentials",
        "wisp.host.local",
        "wisp.host.login",
        "wisp.host.refresh",
        "wisp.host.renewal",
        "wisp.host.routes",
        "wisp.providers.gguf",
        "wisp.host.embedded",
        "wisp.providers.modelsdev",
        "wisp.providers.oauth",
        "wisp.providers.proxied",
        "wisp.tools.match",
        "wisp.tools.planning",
        "wisp.tools.reached",
        "wisp.workspace.sandbox",
        "wisp.workspace.search",
        "glob",
        "shutil",
        "tempfile",
    ],
)
def test_a_headless_run_never_loads(forbidden: str, headless_modules: set[str]) -> None:
    """Only asyncio, h11, msgspec and our own modules stand between the person and the first request."""
    assert forbidden not in headless_modules


@pytest.fixture(scope="session")
def headless_modules(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Modules loaded by a whole headless run against a local server that answers at once."""
    from process.server import ServerThread

    folder = tmp_path_factory.mktemp("startup")
    with ServerThread([{"text": "hello"}]) as server:
        code = (
            "import os\n"
            f"os.environ.update({{'WISP_HOME': {str(folder / 'home')!r}, 'OPENAI_API_KEY': 'k', "
            f"'OPENAI_BASE_URL': {server.url + '/v1'!r}}})\n"
            "from wisp.launch import main\nassert main() == 0\n"
        )
        return _modules(code, "-p", "hi", "--model", "openai/some-model", cwd=folder)
