"""The vendors' own test fixtures, from the source distributions of their SDKs; kept, once downloaded."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peers.others import PEERS

VERSIONS = {"anthropic": "2.14.0", "openai": "3.57.0", "google-genai": "3.6.1", "skills-ref": "0.1.1"}


def unpacked(name: str) -> Path:
    """The folder of an SDK's source; downloaded on first use, skipped at home where that fails."""
    version = VERSIONS[name]
    folder = PEERS / "sdists"
    place = folder / f"{name.replace('-', '_')}-{version}"
    if place.exists():
        return place
    folder.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
    argv += ["--no-binary", name, "-d", str(folder), f"{name}=={version}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=110)
    archive = folder / f"{place.name}.tar.gz"
    if done.returncode or not archive.exists():
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"the source of {name} {version} cannot be had: {done.stderr[-200:]}")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return place


def functions(file: Path, name: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every function called `name`, with that of the test around it."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name == name:
                    yield node.name, inner


def alone(function: ast.FunctionDef, **names: Any) -> Any:
    """A function of a fixture file as a callable, without its decorators, annotations and module."""
    function.decorator_list = []
    function.returns = None
    for argument in (*function.args.args, *function.args.kwonlyargs):
        argument.annotation = None
    code = ast.Module([ast.parse("from __future__ import annotations").body[0], function], [])
    space: dict[str, Any] = dict(names)
    exec(compile(ast.fix_missing_locations(code), function.name, "exec"), space)
    return space[function.name]
