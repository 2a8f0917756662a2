"""Nothing gets out of the box: every attempt that has its effect outside of it fails inside, for root and user."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from workspace.sandbox.world import HERE, World
from workspace.users import NOBODY, as_user

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.process import quiet_environment, run
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

ROOT = Path(__file__).resolve().parents[3]
MIN_ROOT, MIN_USER = 75, 50
LANDLOCK_LEAVES = {
    # said in docs/guide/sandbox.md: what the floor does not cover
    "change_mode_outside",
    "change_times_outside",
    "change_owner_outside",
    "set_attribute_outside",
    "see_a_process",
    "hold_a_process",
    "slow_a_process",
    "limit_a_process",
    "shared_memory",
    "host_interfaces",
    # names inside the workspace that run things later
    "write_git_config",
    "replace_git_config",
    "add_git_hook",
    "move_git_hooks",
    "write_git_attributes",
    "point_git_elsewhere",
    "rename_git",
    "write_nested_git_config",
    "rename_above_nested_git",
    "write_included_config",
    "change_worktree_pointer",
    "make_mcp_list",
    "make_editor_tasks",
    "make_own_settings",
    "make_envrc",
    "make_other_agents_settings",
    "change_editor_settings",
    "change_husky_hook",
}

USERS = [pytest.param(os.geteuid(), id="self")]
if os.geteuid() == 0:
    USERS = [pytest.param(0, id="root"), pytest.param(NOBODY, id="user")]


def interpreter(uid: int) -> str:
    """A Python that this user may run."""
    for path in ("/usr/bin/python3", sys.executable):
        if os.path.exists(path) and (uid == os.geteuid() or not os.path.realpath(path).startswith("/root/")):
            return path
    if os.environ.get("CI"):
        pytest.fail("no Python that an ordinary user may run; CI installs one")
    pytest.skip("no Python that an ordinary user may run")


@pytest.fixture
def place() -> Iterator[Callable[[int], str]]:
    """Makes a folder of a user, outside the temporary folders."""
    made = []

    def make(uid: int) -> str:
        top = tempfile.mkdtemp(prefix=".escape-", dir=ROOT)
        made.append(top)
        os.chmod(top, 0o755)
        if uid != os.geteuid():
            os.chown(top, uid, uid)
        return top

    yield make
    for top in made:
        shutil.rmtree(top, ignore_errors=True)


def attempts(top: str, python: str, launcher_path: str | None) -> dict[str, bool]:
    """Everything tried in a fresh world: in the box of `launcher_path`, or plainly for None."""
    world = World(top)
    said = bytearray()
    argv = [python, "-I", "-S", "-c", (HERE / "escapes.py").read_text()]
    workspace = Workspace(str(world.workspace))
    try:
        if launcher_path is None:
            run(
                argv,
                cwd=workspace.roots[0].fd,
                env=quiet_environment(world.environment),
                timeout=120,
                stop=StopToken(),
                now=time.monotonic,
                output=said.extend,
            )
        else:
            hide = (str(world.home / "state"), str(world.home / "config"))
            settings = BoxSettings(home=str(world.home), hide=hide)
            box = Box(workspace, settings, launcher_path, time.monotonic, time.time_ns)
            try:
                box.run(
                    argv,
                    env=quiet_environment(world.environment),
                    timeout=120,
                    stop=StopToken(),
                    output=said.extend,
                )
            finally:
                box.close()
    finally:
        workspace.close()
        world.close()
    found: dict[str, bool] = json.loads(said)
    return found


def compare(uid: int, top: str, launcher_path: str) -> tuple[set[str], set[str]]:
    """Names of attempts that have their effect outside the box, and of those that have it inside too."""
    python = interpreter(uid)
    answer = os.path.join(top, "answer.json")

    def work() -> None:
        sys.executable = python  # ours may lie where this user cannot go
        plain = attempts(top, python, None)
        boxed = attempts(top, python, launcher_path)
        Path(answer).write_text(json.dumps([plain, boxed]))

    as_user(work, uid)
    plain, boxed = json.loads(Path(answer).read_text())
    return {name for name, got in plain.items() if got}, {name for name, got in boxed.items() if got}


@pytest.mark.parametrize("uid", USERS)
def test_nothing_gets_out_of_bubblewrap(
    uid: int, need: Callable[[str], str], place: Callable[[int], str]
) -> None:
    """Files, credentials, protected names, network, processes and the kernel: no attempt has its effect."""
    launcher = os.path.dirname(need("bwrap"))
    need("git")
    effective, escaped = compare(uid, place(uid), launcher)
    assert escaped == set()
    assert len(effective) >= (MIN_ROOT if uid == 0 else MIN_USER), sorted(effective)


@pytest.mark.parametrize("uid", USERS)
def test_under_landlock_only_what_the_guide_says_gets_out(
    uid: int, need: Callable[[str], str], place: Callable[[int], str]
) -> None:
    """The floor is no box, and says where it ends."""
    need("git")
    from wisp.workspace.sandbox import landlock

    if landlock.version() < 6:
        pytest.skip("this kernel's Landlock knows no scopes")
    effective, escaped = compare(uid, place(uid), "/nonexistent")
    assert escaped - LANDLOCK_LEAVES == set()
    assert len(effective) >= (MIN_ROOT if uid == 0 else MIN_USER), sorted(effective)
