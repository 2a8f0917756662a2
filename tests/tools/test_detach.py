"""A command that somebody waits for can be let go on in the background, whatever it is doing."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.conftest import Bench

from wisp.messages.tool import ToolOutcome
from wisp.workspace.background import MOST, Backgrounds
from wisp.workspace.stop import StopToken

WAITING = "echo started; until [ -e go ]; do sleep 0.02; done; echo finished; exit 3"


class Scene:
    """A bench whose calls run in a thread, as the harness runs them."""

    def __init__(self, root: Path, silence: float | None = None) -> None:
        self.folder = root / "ws"
        self.folder.mkdir()
        self.backgrounds = Backgrounds()
        self.bench = Bench(self.folder, root / "spool", backgrounds=self.backgrounds, silence_limit=silence)
        self.outcomes: list[ToolOutcome] = []

    def begin(self, command: str = WAITING, **more: object) -> threading.Thread:
        """Start a call of `bash`; returns once it waits."""
        self.stop = StopToken()
        ready = self.bench.prepare("bash", command=command, **more)
        thread = threading.Thread(target=lambda: self.outcomes.append(self.bench.run(ready, self.stop)))
        thread.start()
        while not any(one.spool.total for one in self.backgrounds._watched) and thread.is_alive():
            time.sleep(0.01)
        return thread

    def let_go(self, thread: threading.Thread) -> ToolOutcome:
        """Have it go on; what the model was told."""
        assert self.backgrounds.let_go()
        thread.join(20)
        return self.outcomes[-1]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.backgrounds.close()


def ended(scene: Scene, name: str = "p1") -> str:
    """What `process` says once it has ended."""
    for _ in range(500):
        said = scene.bench.call("process", operation="list").text
        if f"{name} running" not in said:
            return said
        time.sleep(0.02)
    raise AssertionError("it goes on and on")


def test_the_call_returns_with_what_was_said_and_the_command_goes_on(scene: Scene) -> None:
    """Nothing of its output is lost, and its end is told like that of any other."""
    told = scene.let_go(scene.begin())
    assert not told.is_error
    assert told.text.startswith("started\n[p1 running]\n[the user let it go on in the background, as p1")
    (scene.folder / "go").touch()
    assert "p1 ended with exit code 3" in ended(scene)
    assert scene.bench.call("process", operation="read", id="p1").text.startswith("finished")
    assert "takes no input" in scene.bench.call("process", operation="write", id="p1", input="x").text


def test_neither_the_time_limit_nor_silence_ends_it_any_more(tmp_path: Path) -> None:
    """Both hold for as long as somebody waits."""
    scene = Scene(tmp_path, silence=0.6)
    scene.let_go(scene.begin(timeout=0.6))
    time.sleep(1.2)
    assert "p1 running" in scene.bench.call("process", operation="list").text
    scene.backgrounds.close()


def test_stopping_the_run_afterwards_leaves_it_and_process_stops_it(scene: Scene) -> None:
    """It belongs to the conversation now."""
    thread = scene.begin()
    scene.let_go(thread)
    scene.stop.stop()
    assert "p1 running" in scene.bench.call("process", operation="list").text
    assert re.search(r"p1 stopped", scene.bench.call("process", operation="stop", id="p1").text)


@pytest.mark.slow
def test_with_nothing_to_wait_for_or_no_room_nothing_is_let_go(scene: Scene) -> None:
    """And a call that ended by itself is told as ever."""
    assert scene.backgrounds.let_go() == []
    for _ in range(MOST):
        scene.bench.call("bash", command="sleep 60", background=True)
    thread = scene.begin()
    assert scene.backgrounds.let_go() == []
    (scene.folder / "go").touch()
    thread.join(20)
    assert scene.outcomes[-1].text == "started\nfinished\nexit code: 3"


@pytest.mark.slow
def test_a_hundred_commands_let_go_at_their_very_end_are_told_exactly_once(scene: Scene) -> None:
    """Either the call says how it ended, or it is in the background: never both, never neither."""
    for number in range(100):
        thread = scene.begin(f"echo {number}; sleep 0.00{number % 10}")
        names = scene.backgrounds.let_go()
        thread.join(20)
        outcome = scene.outcomes[-1]
        if "let it go on" in outcome.text:
            assert names and "exit code" not in outcome.text
            assert f"{names[0]} ended with exit code 0" in ended(scene, names[0])
        else:
            assert outcome.text.startswith(f"{number}\nexit code: 0")
