"""An old build and this one talk to each other over RPC, in both directions, also where a later one adds to it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NOW = ROOT / "src"

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

STEPS: list[dict[str, Any]] = [
    {"text": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "x\n"}}]},
    {"text": "Written."},
    {"text": "Nothing more."},
    {"text": "Once more it is.", "usage": {"input": 11, "output": 7, "cache_read": 0, "cache_write": 0}},
]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the first build that spoke RPC."""

    def git(*args: str) -> bytes:
        return subprocess.run(["git", *args], cwd=ROOT, capture_output=True, check=True).stdout

    try:
        added = git("log", "--format=%H", "--diff-filter=A", "--", "src/wisp/frontends/rpc/client.py")
        commits = added.decode().split()
        packed = git("archive", commits[-1], "src") if commits else b""
    except (OSError, subprocess.CalledProcessError):
        packed = b""
    if not packed:
        pytest.skip("the history of the repository is not here")
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def talk(client: Path, engine: Path, folder: Path, *, meddled: bool = False) -> dict[str, Any]:
    """What the client of one build makes of a conversation with the engine of another."""
    with ServerThread(STEPS) as server:
        program = Program(folder / "home", folder / "work", url=server.base_url("openai-chat"))
        python = [sys.executable, "-P"]
        served = ["env", f"PYTHONPATH={engine}", *python, "-m", "wisp", "rpc", "--sandbox", "off"]
        between = [*python, str(HERE / "rpc_meddler.py")] if meddled else []
        done = subprocess.run(
            [*python, str(HERE / "rpc_driver.py"), *between, *served],
            cwd=program.project,
            env={**program.env, "PYTHONPATH": str(client)},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert server.problems == []
    assert (program.project / "a.txt").read_text() == "x\n"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


EXPECTED = {
    "refused": True,
    "answer": "Once more it is.",
    "stop": "model_finished",
    "view": "Once more it is.",
    "tokens": [11, 7],
    "messages": ["Write it.", "I write.", "created a.txt (1 line)", "Written.", "And now?", "Nothing more.", "Once more.", "Once more it is."],
    "total": 8,
    "state": [False, "ask", 1],
    "turns": 4,
    "server": "wisp",
}  # fmt: skip


@pytest.mark.parametrize("meddled", [False, True], ids=["as it is", "with additions"])
@pytest.mark.parametrize(
    "which", ["old client, this engine", "this client, old engine", "this client, this engine"]
)
def test_both_directions_come_to_the_same(which: str, meddled: bool, old: Path, tmp_path: Path) -> None:
    """The same answer, messages, approvals and figures; what is not known is passed over, and counted."""
    client, engine = (old if side.startswith("old") else NOW for side in which.split(", "))
    found = talk(client, engine, tmp_path, meddled=meddled)
    assert found.pop("build").startswith(str(client))
    skipped, events, approvals = found.pop("skipped"), found.pop("events"), found.pop("approvals")
    assert {key: found[key] for key in EXPECTED if key != "messages"} == {
        k: v for k, v in EXPECTED.items() if k != "messages"
    }
    said = [text for text in found["messages"] if not text.startswith(("created", "wrote"))]
    assert said == [text for text in EXPECTED["messages"] if not text.startswith("created")]  # type: ignore[union-attr]
    assert len(approvals) == 1 and "+x" in approvals[0]
    assert events[0] == "agent.started" and events[-1] == "agent.completed"
    assert {"tool.approval.requested", "tool.execution.ended", "queue.message.injected"} <= set(events)
    if meddled:
        assert skipped > 10
    elif "old" not in which:
        assert skipped == 0
