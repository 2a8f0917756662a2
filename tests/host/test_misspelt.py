"""A limit that is written wrongly is a lost limit, and is told with what was meant; other slips are notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from wisp.host.misspelt import LIMITS
from wisp.host.project import CLASSES, admitted, read_project
from wisp.host.settings import Problem, Settings, environment_layers, merge, read_file


def _read(tmp_path: Path, text: str) -> tuple[Problem, ...]:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    layer, problems = read_file(str(path))
    return merge([layer], problems).problems


SINGLE = sorted(LIMITS - {"permissions", "hooks"})


def _slips(name: str) -> set[str]:
    """A letter left out, twice, or two swapped, and the ways in which other programs write names."""
    parts = name.split("_")
    found = {name.replace("_", "-"), name.upper(), parts[0] + "".join(part.title() for part in parts[1:])}
    for at in range(1, len(name) - 1):
        found |= {
            name[:at] + name[at + 1 :],
            name[:at] + name[at] + name[at:],
            name[:at] + name[at + 1] + name[at] + name[at + 2 :],
        }
    return found - set(Settings.__struct_fields__)


@pytest.mark.parametrize("name", SINGLE)
def test_every_slip_of_the_pen_in_a_limit_is_a_lost_limit(name: str, tmp_path: Path) -> None:
    for slip in sorted(_slips(name)):
        (found,) = _read(tmp_path, f'"{slip}" = 1\n')
        assert found.limit and found.line == 1, slip
        assert f"{slip!r} (did you mean '" in found.message


@pytest.mark.parametrize(
    "text",
    [
        "[permission]\ndeny = ['edit']\n",
        "[Permissions]\ndeny = ['edit']\n",
        "[permisions]\ndeny = ['edit']\n",
        "[permissions]\ndenny = ['edit']\n",
        "[permissions]\nDeny = ['edit']\n",
        "[permissions]\nblock = ['edit']\n",
        "[permissions]\ndeny = 5\n",
        "[permissions]\ndeny = ['edit', 5]\n",
        "permissions = ['edit']\n",
        "[rules]\ndeny = ['edit']\n",
        "[security.rules]\ndeny = ['edit']\n",
        "[limits]\nmax_cost = 1\n",
        "deny = ['edit']\n",
        "disallowedTools = ['bash']\n",
        "maxIterations = 5\n",
        "network_access = false\n",
        "sandbox-workspace = 'x'\n",
        "[tool.limits]\nmax_iterations = 5\n",
        "[providers.local]\napi = 'openai-chat'\nmax_cost = 1\n",
        "[screen]\nsandbox = 'required'\n",
        "[[hooks.PreToolUsed]]\n[[hooks.PreToolUsed.hooks]]\ncommand = 'false'\n",
        "[[hooks.pre_tool_use]]\n[[hooks.pre_tool_use.hooks]]\ncommand = 'false'\n",
        "[[hooks.PreToolUse]]\nmatcher = 'bash'\n[[hooks.PreToolUse.hook]]\ncommand = 'false'\n",
        "[[hook.PreToolUse]]\n[[hook.PreToolUse.hooks]]\ncommand = 'false'\n",
    ],
)
def test_a_table_that_holds_a_limit_and_is_none_is_a_lost_limit(text: str, tmp_path: Path) -> None:
    found = _read(tmp_path, text)
    assert [one.limit for one in found] == [True], found


@pytest.mark.parametrize(
    "text",
    [
        "modle = 'x'\n",
        "colour = true\n",
        "[permissions]\nalow = ['edit']\n",
        "[permissions]\nallow = 5\n",
        "[providers.local]\nbase_ulr = 'x'\n",
        "[providers.local.models.x]\nmax_tokens = 5\n",
        "[screen]\nthem = 'dark'\n",
        "[extras]\nname = 'x'\n",
        "max_retries = 'many'\n",
        "max_retires = 5\n",
        "[profiles.fast]\nmodel = 'x'\n",
        "[[hooks.PostToolUse]]\nmatcher = 'bash'\n",
        "[mcp_servers.x]\ncommand = 'x'\ntolls = ['y']\n",
    ],
)
def test_what_limits_nothing_stays_a_note(text: str, tmp_path: Path) -> None:
    found = _read(tmp_path, text)
    assert [one.limit for one in found] == [False], found


def test_no_right_name_is_taken_for_a_slip(tmp_path: Path) -> None:
    for name in Settings.__struct_fields__:
        assert not [one for one in _read(tmp_path, f"{name} = []\n") if "no setting" in one.message]
        assert [layer.values.keys() for layer in environment_layers({f"WISP_{name.upper()}": "x"})] in (
            [],
            [{name}],
        )


def test_every_limit_is_a_setting_that_a_project_may_narrow_or_asks_for() -> None:
    assert set(Settings.__struct_fields__) >= LIMITS
    assert {name for name, kind in CLASSES.items() if kind == "narrowing"} <= LIMITS


def test_many_settings_that_are_none_cost_little_and_hide_no_limit(tmp_path: Path) -> None:
    text = "".join(f"k{number} = 1\n" for number in range(50_000)) + "Max-Cost = 1\n"
    found = _read(tmp_path, text)
    assert len(found) == 22
    assert [one.message for one in found if one.limit] == [
        "there is no setting 'Max-Cost' (did you mean 'max_cost'?); it is ignored"
    ]
    assert "50001 settings" in found[-1].message


def test_a_limit_in_the_environment_is_found_by_its_slip() -> None:
    layers = environment_layers(
        {"WISP_MAX_COSTS": "1", "WISP_SANDBOXES": "x", "WISP_HOME": "/x", "WISP_COLOUR": "1"}
    )
    found = merge(layers).problems
    assert sorted((one.source, one.limit) for one in found) == [
        ("WISP_MAX_COSTS", True),
        ("WISP_SANDBOXES", True),
    ]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max_tokens = true\n", True),
        ("max_turns = '5'\n", True),
        ("max_cost = inf\n", True),
        ("sandbox = 'requird'\n", True),
        ("permission_mode = 'readonly'\n", True),
        ("max_turn = 5\n", True),
        ("permissions = 5\n", True),
        ("[permission]\ndeny = ['edit']\n", True),
        ("[permissions]\ndenny = ['edit']\n", True),
        ("modle = 'x'\n", False),
    ],
)
def test_a_trusted_projects_lost_limit_is_one_too(text: str, limit: bool, tmp_path: Path) -> None:
    (tmp_path / ".wisp").mkdir()
    (tmp_path / ".wisp" / "settings.toml").write_text(text)
    layer, problems = admitted(read_project(str(tmp_path)), Settings(), "")
    resolved = merge([layer], problems)
    assert limit in [one.limit for one in resolved.problems], resolved.problems
    assert resolved.settings == Settings()
