"""A server's program in the sandbox, as root and as an ordinary user: it writes in the workspace and nowhere else."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from workspace.users import NOBODY, as_user

from wisp.host.client import OpenRequest
from wisp.host.configure import configure
from wisp.host.mcp import Outside, servers_of
from wisp.host.sandbox import make_box
from wisp.messages.ids import SystemClock
from wisp.workspace.root import Workspace
from wisp.workspace.sandbox import landlock, looking, probe, runner, seccomp, selftest  # noqa: F401 - before the user changes

PYTHON = "/usr/bin/python3"
SERVER = Path(__file__).parents[1] / "mcp_client" / "server.py"
USERS = [pytest.param(0, id="root"), pytest.param(NOBODY, id="user")] if os.geteuid() == 0 else [os.geteuid()]

pytestmark = pytest.mark.skipif(
    not (os.path.exists(PYTHON) and shutil.which("bwrap")), reason="needs bubblewrap and the system's python"
)


@pytest.mark.parametrize("uid", USERS)
@pytest.mark.parametrize(("where", "wanted"), [("work/inside", "written"), ("home/outside", "refused")])
def test_a_server_writes_in_the_workspace_and_nowhere_else(
    tmp_path: Path, uid: int, where: str, wanted: str
) -> None:
    for name in ("work", "home", "home/config"):
        (tmp_path / name).mkdir()
    shutil.copy(SERVER, tmp_path / "work" / "server.py")
    aim = tmp_path / where
    (tmp_path / "home" / "config" / "settings.toml").write_text(
        f"[mcp_servers.x]\ncommand = ['{PYTHON}', 'server.py', 'writes', '{aim}']\ntimeout = 60\n"
    )
    for folder in (tmp_path, *tmp_path.rglob("*")):
        os.chown(folder, uid, -1)
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        if str(folder) != "/tmp":
            folder.chmod(0o755)

    env = {"WISP_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    configured = configure(OpenRequest(cwd=str(tmp_path / "work")), env, SystemClock())

    def work() -> None:
        clock = SystemClock()
        workspace = Workspace(configured.cwd)
        box = make_box(workspace, configured, env, clock)
        assert box.prove().kind == "bubblewrap", box.prove()
        said = asyncio.run(_said(Outside(configured, workspace, env, clock, box)))
        box.close()
        assert said.startswith(wanted), said

    as_user(work, uid)
    assert aim.exists() is (wanted == "written")


async def _said(outside: Outside) -> str:
    servers = servers_of(outside)
    servers.begin()
    try:
        await servers.settled()
        server = servers.find("x")
        assert server is not None and server.running, servers.states
        return str((await server.call("echo", {}))["content"][0]["text"])
    finally:
        await servers.close()
