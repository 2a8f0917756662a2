"""`wisp undo` killed, refused or cut short at every system call: all files or none, and then it can be done."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from crash.syscalls import Fault, Outcome, run
from process.program import Program
from process.server import ServerThread

from wisp.launch import main

pytestmark = [pytest.mark.process, pytest.mark.slow]


def tree(project: Path) -> dict[str, tuple[int, bytes]]:
    """Every path with its mode and content."""
    found = {}
    for path in sorted(project.rglob("*")):
        content = (
            os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        )
        found[str(path.relative_to(project))] = (path.lstat().st_mode, content)
    return found


class Scene:
    """A project after a run that changed it, as often as needed."""

    def __init__(self, folder: Path) -> None:
        self.root, self.copy = folder / "scene", folder / "copy"
        command = "echo new > new.txt; rm gone.txt; chmod 755 a.py; echo more >> b.txt; mkdir d; echo x > d/e"
        steps = [
            {"text": "x", "calls": [{"name": "bash", "arguments": {"command": command}}]},
            {"text": "done"},
        ]
        with ServerThread(steps) as server:
            program = Program(self.root / "home", self.root / "work", url=server.base_url("openai-chat"))
            self.project, self.env = program.project, program.env
            for name in ("a.py", "b.txt", "gone.txt"):
                (self.project / name).write_text(f"{name}\n")
            self.before = tree(self.project)
            assert program.run("-p", "go", "--permission-mode", "full").returncode == 0
        self.after = tree(self.project)
        shutil.copytree(self.root, self.copy, symlinks=True)

    def again(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self.copy, self.root, symlinks=True)

    def undo(self, fault: Fault, *words: str) -> Outcome:
        def work(say: Callable[[str], None]) -> None:
            os.environ.update(self.env)
            os.chdir(self.project)
            sys.stdout = sys.stderr = io.StringIO()
            say(str(main(["undo", *words])))

        return run(work, fault, self.root)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("undo"))


@pytest.mark.parametrize("how", ["before", "after", "ENOSPC", "EIO", "EROFS", "short"])
def test_all_files_or_none_and_then_it_can_be_done(scene: Scene, how: str) -> None:
    """After the fault the next look finds the folder whole, before or after; the next undo does the rest."""
    scene.again()
    outcome = scene.undo(Fault(0, how), "--yes")
    assert (outcome.said, tree(scene.project)) == (["0"], scene.before), outcome.error
    total = len(outcome.calls)
    assert total > 40
    step = 1 if how in ("before", "after") else 3
    for number in range(1, total + 1, step if os.environ.get("WISP_SOAK") is None else 1):
        scene.again()
        outcome = scene.undo(Fault(number, how), "--yes")
        assert outcome.error == "", (number, outcome.error)
        assert outcome.killed == (how in ("before", "after")), number
        scene.undo(Fault())  # any look at the session finishes what was begun, or takes it back
        state = tree(scene.project)
        assert state in (scene.before, scene.after), (number, set(state.items()) ^ set(scene.after.items()))
        if outcome.said == ["0"]:
            assert state == scene.before, number
        again = scene.undo(Fault(), "--yes")
        assert tree(scene.project) == scene.before, (number, again)
