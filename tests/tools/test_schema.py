"""What the model is told is small and strict; what it sends is understood or refused by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest
from tools.conftest import Bench

from wisp.messages.tool import ToolFailure
from wisp.tools.edit import EditArguments
from wisp.tools.read import ReadArguments
from wisp.tools.schema import ALIASES, decode, schema_of


def test_the_default_set_is_complete_and_small(bench: Bench) -> None:
    assert list(bench.tools) == ["read", "write", "edit", "bash", "process", "grep", "find", "ls"]
    specs = [msgspec.to_builtins(tool.spec) for tool in bench.tools.values()]
    assert len(json.dumps(specs, separators=(",", ":"))) <= 3600
    for tool in bench.tools.values():
        schema = tool.spec.parameters
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        assert "$ref" not in json.dumps(schema)
        assert not set(schema["properties"]) & set(ALIASES), "misspellings are never shown"


def test_only_tools_without_effects_run_side_by_side_or_again(bench: Bench) -> None:
    safe = {"read", "grep", "find", "ls"}
    assert {name for name, tool in bench.tools.items() if tool.parallel_safe} == safe
    assert {name for name, tool in bench.tools.items() if tool.replay == "safe"} == safe


def test_the_schema_says_what_the_struct_takes() -> None:
    assert schema_of(EditArguments)["properties"]["edits"]["items"] == {
        "type": "object",
        "properties": {
            "old_text": {"type": "string"},
            "new_text": {"type": "string"},
            "replace_all": {"type": "boolean"},
            "path": {"type": "string", "description": "If another file"},
        },
        "required": ["old_text", "new_text"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "x", "approved": True}, "unknown argument approved; it takes path, offset, limit"),
        ({}, "the argument path is missing"),
        ({"path": 3.5}, "Expected str, got float, at path"),
        ({"path": "x", "offset": "many"}, "Expected int, got str, at offset"),
        ({"path": "x", "file_path": "y"}, "path is given twice with different values"),
        ({"path": "x", "old_text": "y"}, "unknown argument old_text"),
    ],
)
def test_faults_are_named(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        decode(ReadArguments, arguments, tool="read")
    assert caught.value.code == "invalid_arguments"
    assert words in caught.value.message


def test_faults_inside_lists_are_named() -> None:
    with pytest.raises(ToolFailure, match=r"edits\[0\]\.force"):
        decode(
            EditArguments,
            {"path": "x", "edits": [{"old_text": "a", "new_text": "b", "force": True}]},
            tool="edit",
        )


def test_numbers_as_text_and_nulls_are_understood() -> None:
    assert decode(ReadArguments, {"path": "x", "offset": "5", "limit": None}, tool="read") == ReadArguments(
        "x", 5
    )


def test_importing_the_tools_loads_nothing_heavy() -> None:
    heavy = "asyncio subprocess tempfile shutil difflib json.tool importlib.metadata ctypes pathspec socket"
    code = f"import sys; import wisp.tools.builtin; print([m for m in {heavy.split()!r} if m in sys.modules])"
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": source}, check=True
    )
    assert done.stdout.strip() == "[]"
