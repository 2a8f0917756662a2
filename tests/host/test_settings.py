"""Settings: later layers win, every value knows its origin, one bad value costs itself and is named."""

from pathlib import Path
from typing import Any

import pytest

from wisp.host.settings import Layer, Permissions, Settings, absolute, environment_layers, merge, read_file


def settings(text: str, tmp_path: Path) -> Any:
    path = tmp_path / "settings.toml"
    path.write_bytes(text.encode())
    layer, problems = read_file(str(path))
    return merge([layer], problems)


def test_later_layers_win_and_every_value_knows_its_origin() -> None:
    layers = [
        Layer("user", {"model": "a", "effort": "low", "max_turns": 3}),
        *environment_layers(
            {"WISP_MODEL": "b", "WISP_MAX_TURNS": "5", "WISP_TOOLS": "read,,edit", "OTHER": "x"}
        ),
        Layer("the command line", {"model": "c"}),
    ]
    resolved = merge(layers)
    assert resolved.problems == ()
    found = resolved.settings
    assert (found.model, found.effort, found.max_turns) == ("c", "low", 5)
    assert found.tools == ("read", "edit")
    assert resolved.origins == {
        "model": "the command line",
        "effort": "user",
        "max_turns": "WISP_MAX_TURNS",
        "tools": "WISP_TOOLS",
    }


def test_nothing_set_is_the_built_in_defaults() -> None:
    assert merge([]).settings == Settings()
    assert merge(environment_layers({"WISP_MAX_TURNS": "", "WISP_TOOLS": ""})).settings == Settings()


def test_permissions_add_up_and_providers_merge_by_name() -> None:
    first = {"permissions": {"allow": ["a"], "deny": ["b"]}, "providers": {"x": {"base_url": "1"}, "y": {}}}
    second = {"permissions": {"deny": ["c"]}, "providers": {"x": {"base_url": "2"}}}
    found = merge([Layer("1", first), Layer("2", second)]).settings
    assert found.permissions == Permissions(("a",), ("b", "c"))
    assert found.providers["x"].base_url == "2"
    assert "y" in found.providers


def test_one_bad_value_is_named_with_its_line_and_the_rest_holds(tmp_path: Path) -> None:
    resolved = settings(
        'model = "m"\n'
        "max_turns = -1\n"
        'permission_mode = "yolo"\n'
        "nonsense = 1\n"
        'effort = "high"\n'
        "[mcp_servers]\n"
        "x = 1\n",
        tmp_path,
    )
    assert (resolved.settings.model, resolved.settings.effort) == ("m", "high")
    assert resolved.settings.max_turns is None
    assert resolved.settings.permission_mode == "ask"
    assert [p.line for p in resolved.problems] == [2, 3, 4, 7]
    said = [str(p) for p in resolved.problems]
    assert said[0].startswith(f"{tmp_path}/settings.toml, line 2: max_turns: ")
    assert "'nonsense'" in said[2]
    assert "mcp_servers.x is not a table" in said[3]


def test_one_bad_rule_costs_itself_and_the_other_rules_hold(tmp_path: Path) -> None:
    resolved = settings(
        'model = "m"\n[permissions]\nallow = 5\ndeny = ["bash(rm)", 7, "read(**/.env)"]\ndenny = ["x"]\n',
        tmp_path,
    )
    assert resolved.settings.permissions == Permissions((), ("bash(rm)", "read(**/.env)"))
    assert [p.line for p in resolved.problems] == [3, 4, 5]
    assert "entry 2" in str(resolved.problems[1])
    assert "permissions.denny" in str(resolved.problems[2])


def test_a_single_rule_may_stand_without_brackets(tmp_path: Path) -> None:
    resolved = settings('[permissions]\ndeny = "bash(rm)"\n', tmp_path)
    assert resolved.settings.permissions.deny == ("bash(rm)",)


def test_one_bad_value_in_a_provider_leaves_the_provider_and_its_models(tmp_path: Path) -> None:
    resolved = settings(
        '[providers.a]\nbase_url = 5\napi_key_env = "K"\napi_key = "secret-value"\n'
        "[providers.a.models.m]\ncontext_window = -5\nmax_output = 7\n"
        '[providers.b]\nbase_url = "http://b"\n',
        tmp_path,
    )
    a, b = resolved.settings.providers["a"], resolved.settings.providers["b"]
    assert (a.base_url, a.api_key_env, b.base_url) == ("", "K", "http://b")
    assert (a.models["m"].context_window, a.models["m"].max_output) == (None, 7)
    assert [p.line for p in resolved.problems] == [2, 4, 6]
    assert not any("secret-value" in str(p) for p in resolved.problems)


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e999", "x"])
@pytest.mark.parametrize("key", ["max_cost", "max_time", "max_turns", "max_tokens"])
def test_a_limit_that_limits_nothing_is_refused(key: str, value: str, tmp_path: Path) -> None:
    resolved = merge(environment_layers({f"WISP_{key.upper()}": value}))
    assert getattr(resolved.settings, key) is None
    assert resolved.problems[0].source == f"WISP_{key.upper()}"


def test_a_negative_price_is_refused(tmp_path: Path) -> None:
    resolved = settings("[providers.a.models.m]\ninput_price = -1.0\noutput_price = nan\n", tmp_path)
    model = resolved.settings.providers["a"].models["m"]
    assert (model.input_price, model.output_price) == (None, None)
    assert len(resolved.problems) == 2


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('model = "a"\nmodel = \n', 2, 9),
        ("a = 1\nb = [1,\n", 3, 0),
        ('model = "m"\nx\n', 2, 2),
        ("= 1", 1, 1),
    ],
)
def test_broken_toml_is_named_with_line_and_column_and_nothing_is_taken(
    text: str, line: int, column: int, tmp_path: Path
) -> None:
    resolved = settings(text, tmp_path)
    assert resolved.settings == Settings()
    assert len(resolved.problems) == 1
    assert resolved.problems[0].line == line
    assert "not valid TOML" in str(resolved.problems[0])
    if column:
        assert f"column {column}" in str(resolved.problems[0])


def test_a_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    resolved = settings('\ufeffmodel = "m"\r\n[permissions]\r\ndeny = ["bash(rm)"]\r\n', tmp_path)
    assert resolved.problems == ()
    assert (resolved.settings.model, resolved.settings.permissions.deny) == ("m", ("bash(rm)",))


def test_what_is_not_utf_8_too_long_or_unreadable_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(b'model = "m"\neffort = "\xff"\n')
    layer, problems = read_file(str(path))
    assert (layer.values, problems[0].line) == ({}, 2)
    path.write_bytes(b'permission_mode = "full"\n' + b"#\n" * (1 << 19) + b'[permissions]\ndeny=["bash"]\n')
    layer, problems = read_file(str(path))
    assert layer.values == {}
    assert "longer than" in str(problems[0])
    layer, problems = read_file(str(tmp_path))
    assert "cannot be read" in str(problems[0])
    assert read_file(str(tmp_path / "missing")) == (Layer(str(tmp_path / "missing"), {}), ())


def test_reading_never_writes(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("model = ,\n")
    read_file(str(path))
    assert path.read_text() == "model = ,\n"


def test_paths_are_made_absolute() -> None:
    assert absolute("x/../y", "/base") == "/base/y"
    assert absolute("/x", "/base") == "/x"
    assert not absolute("~/x", "/base").startswith("/base")
