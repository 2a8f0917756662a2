"""The reference pages are what the code says."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable

import jsonschema
import pytest
from architecture.sources import ROOT

SCHEMA = json.loads((ROOT / "docs" / "reference" / "settings.schema.json").read_text())


def test_the_generated_pages_are_fresh() -> None:
    """`make docs` would change nothing."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "text",
    [
        'model = "local/x"\npermission_mode = "ask"\n[providers.local]\napi = "openai-chat"\nbase_url = "http://h/v1"\n',
        '[permissions]\nallow = ["bash(git status)"]\ndeny = ["read(**/.env)"]\n',
        "max_turns = 4\nmax_cost = 1.5\n",
    ],
)
def test_the_published_schema_accepts_what_the_readme_shows(text: str) -> None:
    """An editor can check a settings file."""
    jsonschema.validate(tomllib.loads(text), SCHEMA)


@pytest.mark.parametrize(
    "text", ['permission_mode = "yolo"\n', 'max_turns = "four"\n', "[providers.x]\nkey = 1\n"]
)
def test_the_published_schema_refuses_what_the_program_would(text: str) -> None:
    """Wrong words, wrong types, unknown keys of a provider."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), SCHEMA)


def test_the_default_tools_cost_the_model_no_more_than_their_budget() -> None:
    """Names, descriptions and schemas together stay below 1,000 tokens at four bytes a token."""
    from wisp.messages.ids import FixedClock
    from wisp.tools.builtin import default_tools
    from wisp.workspace.root import Workspace

    workspace = Workspace(str(ROOT))
    specs = [
        tool.spec
        for tool in default_tools(workspace, environment={"PATH": ""}, clock=FixedClock(), spool_folder=None)
    ]
    workspace.close()
    size = sum(len(json.dumps([s.name, s.description, s.parameters], separators=(",", ":"))) for s in specs)

    assert size / 4 <= 1000
    assert [s.name for s in specs] == ["read", "write", "edit", "bash", "process", "grep", "find", "ls"]


def test_the_built_in_prompt_stays_below_its_budget() -> None:
    """1,000 tokens at four bytes a token."""
    from wisp.context.prompt import base_prompt

    assert len(base_prompt().encode()) / 4 <= 1000


def test_the_manual_is_well_formed_and_names_every_option_command_and_exit_code(
    need: Callable[[str], str],
) -> None:
    """As `groff` reads it, with every warning it has."""
    from wisp.frontends.cli.args import COMMANDS
    from wisp.frontends.cli.options import OPTIONS
    from wisp.frontends.cli.uses import EXITS

    page = ROOT / "docs" / "reference" / "wisp.1"
    done = subprocess.run(
        [need("groff"), "-man", "-ww", "-Tascii", "-P-cbou", str(page)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    for option in OPTIONS:
        assert f"--{option.name}" in done.stdout
    for command in COMMANDS:
        assert command in done.stdout
    for code, about in EXITS:
        assert f"       {code} " in done.stdout and about.split()[0] in done.stdout
    assert '"PROMPT"' in done.stdout
