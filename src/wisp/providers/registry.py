"""Names to dialects and vendors: the only module that imports a dialect by name, from a fixed table."""

from __future__ import annotations

from typing import cast

import msgspec

from wisp.messages.ids import Clock
from wisp.providers.base import Api
from wisp.providers.client import HttpProvider
from wisp.providers.endpoint import Endpoint
from wisp.providers.errors import RequestError
from wisp.providers.transport import Transport
from wisp.providers.wire import Dialect

_MODULES: dict[str, str] = {
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic-messages": "anthropic",
    "gemini": "gemini",
}

DIALECTS: tuple[str, ...] = tuple(_MODULES)


class Vendor(msgspec.Struct, frozen=True):
    """A service known by name."""

    name: str
    api: Api
    base_url: str
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, first wins."""
    url_variable: str = ""
    """Environment variable that moves the base URL, as the vendor's own SDK reads it."""
    local: bool = False
    """Runs on this machine, needs no key."""


VENDORS: dict[str, Vendor] = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            "openai", "openai-responses", "https://api.openai.com/v1", ("OPENAI_API_KEY",), "OPENAI_BASE_URL"
        ),
        Vendor(
            "anthropic",
            "anthropic-messages",
            "https://api.anthropic.com",
            ("ANTHROPIC_API_KEY",),
            "ANTHROPIC_BASE_URL",
        ),
        Vendor(
            "gemini",
            "gemini",
            "https://generativelanguage.googleapis.com",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
        Vendor("openrouter", "openai-chat", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
        Vendor("deepseek", "openai-chat", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
        Vendor("mistral", "openai-chat", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
        Vendor("xai", "openai-chat", "https://api.x.ai/v1", ("XAI_API_KEY",)),
        Vendor("groq", "openai-chat", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
        Vendor("cerebras", "openai-chat", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
        Vendor("together", "openai-chat", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
        Vendor("fireworks", "openai-chat", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
        Vendor("ollama", "openai-chat", "http://127.0.0.1:11434/v1", local=True),
        Vendor("llama.cpp", "openai-chat", "http://127.0.0.1:8080/v1", local=True),
        Vendor("lmstudio", "openai-chat", "http://127.0.0.1:1234/v1", local=True),
        Vendor("vllm", "openai-chat", "http://127.0.0.1:8000/v1", local=True),
    )
}
"""Services that need no settings; local ones in the order in which they are looked for."""


def dialect(api: str) -> Dialect:
    """The module that speaks `api`, imported on first use.

    Raises:
        RequestError: no such dialect; the message names those there are.
    """
    name = _MODULES.get(api)
    if name is None:
        raise RequestError(f"unknown api {api!r}; known are {', '.join(DIALECTS)}")
    from importlib import import_module

    return cast(Dialect, import_module(f"wisp.providers.{name}"))


def build_provider(endpoint: Endpoint, clock: Clock, transport: Transport | None = None) -> HttpProvider:
    """A provider for `endpoint`; without a transport it gets one of its own, to be closed by `aclose`.

    Raises:
        RequestError: the endpoint names an unknown api or no usable URL.
    """
    if transport is None:
        from wisp.providers.http import HttpTransport

        transport = HttpTransport()
    return HttpProvider(endpoint, dialect(endpoint.api), transport, clock)
