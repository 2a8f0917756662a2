"""A box over a fresh workspace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.process import Ending, quiet_environment
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken


class Boxed:
    """Runs shell lines in a box, and plainly for comparison."""

    def __init__(self, folder: Path, home: Path, search_path: str) -> None:
        self.folder = folder
        self.workspace = Workspace(str(folder))
        self.box = Box(self.workspace, BoxSettings(home=str(home)), search_path, time.monotonic, time.time_ns)
        self.environment = quiet_environment(
            {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        )
        self.fresh: tuple[str, ...] = ()

    def __call__(
        self, command: str, *, timeout: float = 60, stop: StopToken | None = None
    ) -> tuple[Ending, str]:
        said = bytearray()
        ending, news = self.box.run(
            ["/bin/bash", "-c", command],
            env=self.environment,
            timeout=timeout,
            stop=stop or StopToken(),
            output=said.extend,
        )
        self.fresh = (*news.names, *news.said)
        return ending, said.decode("utf-8", "replace")

    def close(self) -> None:
        self.box.close()
        self.workspace.close()


@pytest.fixture
def boxed(tmp_path: Path, need: Callable[[str], str]) -> Iterator[Boxed]:
    launcher = os.path.dirname(need("bwrap"))
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.org\n")
    made = Boxed(folder, home, launcher)
    proof = made.box.prove()
    if proof.kind != "bubblewrap":
        if os.environ.get("CI"):
            pytest.fail(f"no sandbox in CI: {proof.reason}")
        pytest.skip(proof.reason)
    yield made
    made.close()
