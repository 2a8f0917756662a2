"""Which model, at which service, with which key; a choice that cannot be met names what is configured."""

from typing import Any

import pytest

from wisp.host.models import Choice, ConfigError, choose
from wisp.host.settings import Layer, merge
from wisp.providers.registry import VENDORS

LOCAL = {
    "api": "openai-chat",
    "base_url": "http://127.0.0.1:9/v1",
    "models": {"qwen3": {"context_window": 32768}},
}
UNLISTED = {**LOCAL, "models": {}}
"""A server that may have any model."""
OPENAI, ANTHROPIC = {"OPENAI_API_KEY": "sk-o"}, {"ANTHROPIC_API_KEY": "sk-a"}


def pick(values: dict[str, Any], env: dict[str, str] | None = None, **more: Any) -> Choice:
    resolved = merge([Layer("test", values)])
    assert resolved.problems == ()
    return choose(resolved.settings, env or {}, more.pop("run", lambda argv: ""), dead_after=None, **more)


@pytest.mark.parametrize(
    ("values", "env", "provider", "model", "url"),
    [
        ({"model": "local/qwen3", "providers": {"local": LOCAL}}, {}, "local", "qwen3", "http://127.0.0.1:9/v1"),
        ({"model": "qwen3", "providers": {"local": LOCAL}}, OPENAI, "local", "qwen3", "http://127.0.0.1:9/v1"),
        ({"model": "other", "providers": {"local": UNLISTED}}, {}, "local", "other", "http://127.0.0.1:9/v1"),
        ({"providers": {"local": LOCAL}}, OPENAI, "local", "qwen3", "http://127.0.0.1:9/v1"),
        ({"provider": "local", "providers": {"local": LOCAL}}, {}, "local", "qwen3", "http://127.0.0.1:9/v1"),
        ({"provider": "local", "model": "local/x", "providers": {"local": UNLISTED}}, {}, "local", "x", "http://127.0.0.1:9/v1"),
        ({"model": "openai/gpt-x"}, OPENAI, "openai", "gpt-x", "https://api.openai.com/v1"),
        ({"model": "openrouter/a/b"}, {"OPENROUTER_API_KEY": "k"}, "openrouter", "a/b", "https://openrouter.ai/api/v1"),
        ({"base_url": "http://x/v1", "model": "m"}, {}, "custom", "m", "http://x/v1"),
        ({"base_url": "http://x/v1"}, {}, "custom", "default", "http://x/v1"),
        ({"base_url": "http://x", "provider": "anthropic", "model": "m"}, ANTHROPIC, "anthropic", "m", "http://x"),
        ({"base_url": "http://x", "model": "anthropic/m"}, ANTHROPIC, "anthropic", "m", "http://x"),
        ({"model": "ollama/llama"}, {}, "ollama", "llama", "http://127.0.0.1:11434/v1"),
    ],
)  # fmt: skip
def test_choice_table(values: Any, env: Any, provider: str, model: str, url: str) -> None:
    choice = pick(values, env)
    assert (choice.endpoint.name, choice.model.id, choice.endpoint.base_url) == (provider, model, url)


@pytest.mark.parametrize(("env", "provider"), [(OPENAI, "openai"), (ANTHROPIC, "anthropic")])
def test_a_key_alone_gets_a_model_of_its_vendor(env: dict[str, str], provider: str) -> None:
    choice = pick({}, env)
    assert choice.endpoint.name == provider
    assert choice.model.id


def test_a_moved_openai_address_speaks_what_compatible_servers_speak() -> None:
    choice = pick({"model": "openai/m"}, {**OPENAI, "OPENAI_BASE_URL": "http://here/v1"})
    assert (choice.endpoint.api, choice.endpoint.base_url) == ("openai-chat", "http://here/v1")
    assert pick({"model": "openai/m"}, OPENAI).endpoint.api == "openai-responses"


def test_a_key_is_wrapped_and_never_shown() -> None:
    choice = pick({"model": "openai/m"}, OPENAI)
    assert "sk-o" not in repr(choice)
    assert "sk-o" not in str(choice.endpoint)


def test_an_address_given_without_a_provider_gets_no_vendors_key() -> None:
    choice = pick({"base_url": "http://somewhere/v1", "model": "m"}, {**OPENAI, **ANTHROPIC})
    assert choice.endpoint.key.reveal() == ""
    assert "sk-" not in repr(choice.endpoint)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"model": "nowhere/m", "providers": {"local": LOCAL}},
            ["'nowhere'", "local/qwen3", "built in: anthropic"],
        ),
        ({"provider": "nowhere", "providers": {"local": LOCAL}}, ["'nowhere'", "local/qwen3"]),
        ({"model": "unheard-of"}, ["'unheard-of'", "PROVIDER/unheard-of", "nothing yet"]),
        ({"model": "anthropic/m"}, ["anthropic needs a key", "ANTHROPIC_API_KEY"]),
        ({"model": "x/m", "providers": {"x": {}}}, ["'x' has no base_url", "[providers.x]"]),
        ({"provider": "x", "providers": {"x": {"base_url": "http://x"}}}, ["--model x/ID"]),
        ({"base_url": "ftp://x", "model": "m"}, ["'custom'", "http:// or https://"]),
        ({"model": "x/m", "providers": {"x": {"base_url": "http://"}}}, ["'x'", "names no host"]),
        ({}, ["Three ways", "ANTHROPIC_API_KEY", "--base-url", "wisp demo"]),
    ],
)
def test_what_cannot_be_met_names_what_is_configured_and_the_next_step(values: Any, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        pick(values)
    for word in words:
        assert word in str(caught.value)


def test_a_local_server_is_looked_for_last() -> None:
    found = {"found_locally": lambda: ("ollama", "llama")}
    assert pick({}, {}, **found).endpoint.name == "ollama"
    assert pick({}, OPENAI, **found).endpoint.name == "openai"


def test_a_key_command_runs_only_without_a_variable_and_its_failure_is_a_config_error() -> None:
    table = {**LOCAL, "api_key_env": "K", "api_key_command": ["pass", "x"]}
    values = {"model": "local/qwen3", "providers": {"local": table}}

    def fail(argv: Any) -> str:
        raise OSError("not found")

    pick(values, {"K": "k"}, run=fail)
    with pytest.raises(ConfigError, match="'pass' failed"):
        pick(values, {}, run=fail)


def test_settings_say_more_than_the_catalogue() -> None:
    table = {"context_window": 5, "input_price": 1.5, "images": True, "efforts": ["low"]}
    choice = pick({"model": "local/m", "providers": {"local": {**LOCAL, "models": {"m": table}}}})
    model = choice.model
    assert (model.context_window, model.price.input, model.images, model.efforts) == (5, 1.5, True, ("low",))
    assert model.price.output is None


def test_every_vendor_can_be_named() -> None:
    for name, vendor in VENDORS.items():
        env = dict.fromkeys(vendor.key_variables, "k")
        assert pick({"model": f"{name}/m"}, env).endpoint.name == name
