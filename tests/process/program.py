"""Starting the real `wisp` in a home of its own, and projects for it to work on."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

APIS = ("openai-chat", "openai-responses", "anthropic-messages")

SETTINGS = """\
model = "local/test-model"
[providers.local]
api = "{api}"
base_url = "{url}"
api_key_env = "LOCAL_KEY"
[providers.local.models.test-model]
context_window = 200000
max_output = 8000
{more}
"""
KEY = "test-key-8c1e4f"


class Program:
    """The program, its home and its project folder."""

    def __init__(
        self,
        home: Path,
        project: Path,
        *,
        api: str = "openai-chat",
        url: str = "http://127.0.0.1:9",
        more: str = "",
    ) -> None:
        self.home = home
        self.project = project
        config = home / "config"
        config.mkdir(parents=True, exist_ok=True)
        project.mkdir(parents=True, exist_ok=True)
        if api:
            (config / "settings.toml").write_text(SETTINGS.format(api=api, url=url, more=more))
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "WISP_HOME": str(home),
            "LOCAL_KEY": KEY,
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(home / "tmp"),
        }
        (home / "tmp").mkdir(exist_ok=True)

    @property
    def argv(self) -> list[str]:
        """How the program is started."""
        return [sys.executable, "-m", "wisp"]

    def start(self, *args: str, **more: Any) -> subprocess.Popen[str]:
        """Start it; output as text pipes unless told otherwise."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        return subprocess.Popen(
            [*self.argv, *args], cwd=self.project, env=self.env, text=True, start_new_session=True, **options
        )

    def run(
        self, *args: str, stdin: str | None = None, timeout: float = 60, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
        return subprocess.run(
            [*self.argv, *args],
            cwd=self.project,
            env={**self.env, **env},
            text=True,
            capture_output=True,
            timeout=timeout,
            check=False,
            **given,
        )

    def sessions(self) -> list[Path]:
        """The session files, oldest first."""
        return sorted((self.home / "state" / "sessions").rglob("*.jsonl"))


def result_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The result object on the last line of standard output."""
    assert done.stdout.strip(), done.stderr
    value = json.loads(done.stdout.strip().splitlines()[-1])
    assert value["type"] == "result"
    return value


class Bug:
    """A random fault in a random function of a random file, and the script that repairs it."""

    FAULTS = (
        ("return a + b", "return a - b"),
        ("return a * b", "return a + b"),
        ("return a - b", "return b - a"),
        ("return max(a, b)", "return min(a, b)"),
        ("return a == b", "return a != b"),
    )

    def __init__(self, seed: int) -> None:
        rnd = random.Random(seed)
        self.module = "mod_" + "".join(rnd.choices("abcdefghij", k=6))
        self.function = "fn_" + "".join(rnd.choices("klmnopqrst", k=6))
        self.right, self.wrong = rnd.choice(self.FAULTS)
        a, b = rnd.sample(range(2, 50), 2)
        self.expected = eval(self.right.removeprefix("return "), {"a": a, "b": b, "max": max, "min": min})
        self.check = f"self.assertEqual({self.expected!r}, {self.function}({a}, {b}))"
        self.command = "python3 -m unittest -q"

    def plant(self, project: Path) -> None:
        """Write the project: the broken module among others, and its test."""
        (project / f"{self.module}.py").write_text(f"def {self.function}(a, b):\n    {self.wrong}\n")
        (project / "helpers.py").write_text("def unrelated(a):\n    return a\n")
        (project / "test_all.py").write_text(
            f"import unittest\nfrom {self.module} import {self.function}\n\n\nclass T(unittest.TestCase):\n"
            f"    def test_it(self):\n        {self.check}\n"
        )

    def steps(self) -> list[dict[str, Any]]:
        """Five turns: test, search, edit, test, answer."""
        edit = {"path": f"{self.module}.py", "edits": [{"old_text": self.wrong, "new_text": self.right}]}
        return [
            {"text": "Testing.", "calls": [{"name": "bash", "arguments": {"command": self.command}}]},
            {
                "text": "Searching.",
                "calls": [{"name": "grep", "arguments": {"pattern": f"def {self.function}"}}],
            },
            {"text": "Fixing.", "calls": [{"name": "edit", "arguments": edit}]},
            {"text": "Testing again.", "calls": [{"name": "bash", "arguments": {"command": self.command}}]},
            {"text": "Fixed."},
        ]

    def fixed(self, project: Path) -> bool:
        """Whether the project's own tests pass now."""
        done = subprocess.run(
            [sys.executable, "-B", "-m", "unittest", "-q"], cwd=project, capture_output=True, check=False
        )
        return done.returncode == 0
