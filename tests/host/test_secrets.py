"""Keys are found where they were promised and reach no child."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.host.secrets import MissingKey, find_key, without_secrets
from wisp.providers.registry import VENDORS

KEY = "sk-0123456789abcdef"


def never(argv: object) -> str:
    raise AssertionError("nothing may be run")


def test_the_first_variable_that_is_set_wins_over_the_command() -> None:
    assert find_key({"B": " k \n"}, ["A", "B"], ["cmd"], never) == "k"
    assert find_key({"A": "", "B": "k"}, ["A", "B"], [], never) == "k"
    assert find_key({}, ["A"], [], never) == ""


def test_a_command_gives_the_key_or_a_reason() -> None:
    assert find_key({}, ["A"], ["pass", "x"], lambda argv: "k\n") == "k"
    with pytest.raises(MissingKey, match="'pass' printed nothing"):
        find_key({}, [], ["pass"], lambda argv: " \n")

    def broken(argv: object) -> str:
        raise OSError("no such file")

    with pytest.raises(MissingKey, match="'pass' failed: no such file"):
        find_key({}, [], ["pass"], broken)


def test_no_key_of_any_vendor_reaches_a_child() -> None:
    names = [name for vendor in VENDORS.values() for name in vendor.key_variables]
    assert names
    env = {name: f"{KEY}-{name}" for name in names} | {"PATH": "/bin", "LOCAL": KEY}
    child = without_secrets(env, ["LOCAL"])
    assert child == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY", "OPENAI_APIKEY", "GITHUB_TOKEN", "TOKEN", "NPM_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD",
        "PGPASSWORD", "MY_SECRET", "SSH_PRIVATE_KEY", "openai_api_key", "WISP_MODEL", "WISP_HOME",
        "GOOGLE_APPLICATION_CREDENTIALS", "GITLAB_PAT",
    ],
)  # fmt: skip
def test_what_looks_like_a_credential_is_hidden(name: str) -> None:
    assert without_secrets({name: "x"}, []) == {}


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "TERM", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK"]
)
def test_what_programs_need_is_kept(name: str) -> None:
    assert without_secrets({name: "x"}, []) == {name: "x"}


def test_a_copy_of_a_key_under_another_name_is_hidden_too() -> None:
    env = {"MINE": KEY, "HEADER": f"Bearer {KEY}", "COPY": KEY, "N": "1", "X_TOKEN": "1"}
    assert without_secrets(env, ["MINE"]) == {"N": "1"}


@given(
    st.dictionaries(st.text("ABCXYZ_", min_size=1), st.text("abc123", max_size=30)),
    st.text("abc", min_size=12),
)
def test_a_key_named_in_the_settings_is_in_no_value(env: dict[str, str], key: str) -> None:
    child = without_secrets({**env, "LOCAL_K": key}, ["LOCAL_K"])
    assert not any(key in value for value in child.values())
    assert set(child) <= set(env)
