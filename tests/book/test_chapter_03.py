"""Promises of chapter 3: five blocks with budgets, trust, discovery, and what is really sent."""

import json

import pytest
from examples.crafting_agents.checkpoint_03 import make_executor
from examples.crafting_agents.context import (
    AUTHORITY,
    CONTEXT_PROJECT,
    CONTEXT_TOOLS,
    CORE,
    RequestInspector,
    assemble_instructions,
    discover,
    fit,
    read_start,
)
from examples.crafting_agents.core import (
    Message,
    ScriptedProvider,
    ScriptMismatch,
    ToolCall,
    ToolFailure,
    ToolSpec,
)
from examples.crafting_agents.scripted import step


@pytest.fixture
def project(tmp_path):
    for name, text in CONTEXT_PROJECT.items():
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def assemble(root, *, trusted=True):
    return assemble_instructions(root, CONTEXT_TOOLS, trusted=trusted)


def test_blocks_come_in_the_order_core_metadata_guidance_tools_authority(project):
    blocks = assemble(project)

    assert len(blocks) == 5
    assert (blocks[0], blocks[4]) == (CORE, AUTHORITY)
    assert 'name = "calculator"' in blocks[1]
    assert "Keep functions small" in blocks[2]
    assert all(spec.name in blocks[3] for spec in CONTEXT_TOOLS)


@pytest.mark.parametrize(
    ("name", "block", "limit"),
    [("pyproject.toml", 1, 256), ("AGENTS.md", 2, 384)],
    ids=["metadata", "guidance"],
)
def test_a_long_project_file_fills_its_own_budget_and_nothing_else(project, name, block, limit):
    normal = assemble(project)
    (project / name).write_text("\u00e9" * 100_000)
    blocks = assemble(project)

    assert limit == len(blocks[block])
    assert blocks[block].endswith("[truncated]")
    assert sorted([number for number in range(5) if blocks[number] == normal[number]] + [block]) == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_a_large_catalog_is_cut_at_1024_characters(project):
    tools = [ToolSpec(f"tool{number}", "x" * 80) for number in range(50)]
    block = assemble_instructions(project, tools, trusted=True)[3]

    assert len(block) == 1_024
    assert block.endswith("[truncated]")


def test_the_marker_counts_within_the_limit():
    assert fit("123456789012", 12) == "123456789012"
    assert fit("1234567890123", 12) == "1[truncated]"


def test_a_project_file_is_read_one_character_beyond_its_limit_and_no_further(tmp_path):
    (tmp_path / "big").write_text("\u20ac" * 500)

    assert read_start(tmp_path / "big", 384) == "\u20ac" * 385


def test_nothing_of_an_untrusted_project_reaches_the_instructions(project):
    for name in CONTEXT_PROJECT:
        (project / name).write_text("SECRET WORDS")
    blocks = assemble(project, trusted=False)

    assert len(blocks) == 5
    assert not any("SECRET" in block for block in blocks)
    assert "trusted" in blocks[1]
    assert "trusted" in blocks[2]


@pytest.mark.parametrize("kind", ["missing", "link"])
def test_guidance_that_is_no_regular_file_is_left_out(project, tmp_path_factory, kind):
    (project / "AGENTS.md").unlink()
    if kind == "link":
        target = tmp_path_factory.mktemp("outside") / "secret"
        target.write_text("SECRET")
        (project / "AGENTS.md").symlink_to(target)

    assert assemble(project)[2].endswith("(none)")


def test_discovery_lists_known_names_sorted_and_never_guidance_or_secrets(project):
    (project / "zzz.py").write_text("")

    assert discover(project) == "README.md\ncalculator.py\ntest_calculator.py"


def test_discovery_leaves_out_what_is_missing_or_a_link(project):
    (project / "README.md").unlink()
    (project / "test_calculator.py").unlink()
    (project / "test_calculator.py").symlink_to(project / "calculator.py")

    assert discover(project) == "calculator.py"


@pytest.mark.parametrize("path", ["AGENTS.md", ".env", "pyproject.toml"])
def test_what_discovery_does_not_list_cannot_be_read(project, path):
    with pytest.raises(ToolFailure):
        make_executor(project, ())(ToolCall("1", "read", {"path": path}))


def inspector(lines, steps=2):
    answers = ScriptedProvider([step("ok")] * steps)
    return RequestInspector(answers, ("one", "two"), CONTEXT_TOOLS, lines.append)


PREFIX = [Message("system", "one"), Message("system", "two")]


async def test_the_first_request_is_shown_whole_and_only_once():
    lines: list[str] = []
    watched = inspector(lines)
    history = [*PREFIX, Message("user", "go")]
    await watched.complete(history, CONTEXT_TOOLS)
    await watched.complete([*history, Message("assistant", "ok")], CONTEXT_TOOLS)

    assert len(lines) == 1
    shown = json.loads(lines[0].partition("\n")[2])
    assert [row["role"] for row in shown["messages"]] == ["system", "system", "user"]
    assert [tool["name"] for tool in shown["tools"]] == ["discover", "read", "edit", "test"]


@pytest.mark.parametrize(
    "history",
    [
        [Message("user", "go")],
        [Message("user", "go"), *PREFIX],
        PREFIX[::-1],
        [*PREFIX, Message("user", "go"), PREFIX[0]],
        [*PREFIX, *PREFIX],
        [Message("system", "one"), Message("system", "other")],
    ],
    ids=["absent", "late", "swapped", "repeated", "doubled", "changed"],
)
async def test_a_request_without_the_prefix_exactly_once_fails_the_checkpoint(history):
    with pytest.raises(ScriptMismatch, match="once"):
        await inspector([]).complete(history, CONTEXT_TOOLS)


async def test_a_catalog_that_changes_fails_the_checkpoint():
    with pytest.raises(ScriptMismatch, match="catalog"):
        await inspector([]).complete(PREFIX, CONTEXT_TOOLS[:-1])
