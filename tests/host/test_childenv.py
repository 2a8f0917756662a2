"""Commands get what is on a list; nothing else of the person's environment, however it is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.host.childenv import child_environment


@pytest.mark.parametrize(
    "name",
    ["DATABASE_URL", "STRIPE_SK", "ACME_LICENCE", "LD_PRELOAD", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4",
     "BASH_FUNC_ls%%", "GOOGLE_APPLICATION_CREDENTIALS", "GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PAGER",
     "LESSOPEN", "EDITOR", "WISP_HOME", "PIP_TOKEN", "NPM_CONFIG_TOKEN"],
)  # fmt: skip
def test_what_is_not_on_the_list_stays_out(name: str) -> None:
    assert child_environment({name: "x", "PATH": "/bin"}, [], []) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name",
    ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "VIRTUAL_ENV", "PYTHONPATH", "PYTEST_ADDOPTS", "JAVA_HOME", "GOPATH",
     "CARGO_HOME", "NODE_OPTIONS", "GIT_AUTHOR_NAME", "CI", "https_proxy"],
)  # fmt: skip
def test_what_tools_of_the_trade_need_is_passed(name: str) -> None:
    assert child_environment({name: "x"}, [], []) == {name: "x"}


def test_an_address_with_an_account_in_it_stays_out() -> None:
    env = {
        "PIP_INDEX_URL": "https://me:pass@index.example/simple",
        "HTTPS_PROXY": "http://me@proxy:3128",
        "PIP_EXTRA_INDEX_URL": "https://index.example/@scope/simple",
    }
    assert set(child_environment(env, [], [])) == {"PIP_EXTRA_INDEX_URL"}


def test_a_name_the_person_added_is_passed_unless_it_holds_a_key_of_a_provider() -> None:
    env = {"DATABASE_URL": "postgres://me:pass@db/x", "CI_TOKEN": "t", "MY_KEY": "k", "OTHER": "o"}
    more = ["DATABASE_URL", "CI_TOKEN", "MY_KEY", "NOT_SET"]
    assert child_environment(env, ["MY_KEY"], more) == {
        "DATABASE_URL": "postgres://me:pass@db/x",
        "CI_TOKEN": "t",
    }


@given(
    st.text("abc123", min_size=16), st.sampled_from(["PATH", "LANG", "PYTHONPATH", "CFLAGS"]), st.text(":/x")
)
def test_a_key_inside_a_listed_variable_hides_that_variable(key: str, name: str, around: str) -> None:
    child = child_environment({"OPENAI_API_KEY": key, name: around + key + around, "HOME": "/h"}, [], [])
    assert child == {"HOME": "/h"}
