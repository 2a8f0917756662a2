"""An environment for Harbor on this machine: the container's folders are folders of a temporary one.

    harbor run -e harbor_here:Here        with HARBOR_HERE=FOLDER and HARBOR_RUNNER=VENV in the environment

What Harbor does in a container is done here in a shell; the absolute paths it uses are put elsewhere by their names.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult

ROOT = Path(os.environ["HARBOR_HERE"])
_PLACES = re.compile(
    r"(?<![\w./-])/(logs|tests|solution|app|installed-agent|opt/harbor-acp-venv|runtime/skills)(?![\w-])"
)


def elsewhere(text: str) -> str:
    """`text` with the container's paths as ours."""
    return _PLACES.sub(lambda found: f"{ROOT}/{found[1]}", text)


class Here(BaseEnvironment):
    """One trial; its container is a folder."""

    @staticmethod
    def type() -> str:
        return "here"

    def _validate_definition(self) -> None:
        pass

    async def start(self, force_build: bool) -> None:
        for name in (
            "logs/agent",
            "logs/verifier",
            "logs/artifacts",
            "tests",
            "solution",
            "app",
            "installed-agent",
            "opt",
        ):
            (ROOT / name).mkdir(parents=True, exist_ok=True)
        link = ROOT / "opt/harbor-acp-venv"
        if not link.is_symlink():
            link.symlink_to(os.environ["HARBOR_RUNNER"])

    async def stop(self, delete: bool) -> None:
        pass

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = Path(elsewhere(target_path))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)
        if target.suffix == ".sh":
            target.write_text(elsewhere(target.read_text()))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, elsewhere(target_dir), dirs_exist_ok=True)
        for script in Path(elsewhere(target_dir)).rglob("*.sh"):
            script.write_text(elsewhere(script.read_text()))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(elsewhere(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(elsewhere(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        more: dict[str, Any] = {key: elsewhere(value) for key, value in (env or {}).items()}
        running = await asyncio.create_subprocess_exec(
            "bash", "-c", elsewhere(command),
            cwd=elsewhere(cwd) if cwd else ROOT / "app",
            env={**os.environ, **more},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(running.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=running.returncode or 0)
