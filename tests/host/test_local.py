"""What runs on this machine is found in 200 ms, and its window is what it says, not what the model could."""

import socket
import time
from contextlib import ExitStack
from typing import Any

import pytest
from host.local_servers import LLAMA_CPP, LM_STUDIO, LOADED, OLLAMA, PRODUCTS, VLLM, LocalServer

from wisp.host.local import PATIENCE, Offer, discover, window_of
from wisp.host.models import Service, services
from wisp.host.settings import Settings
from wisp.providers.http import HttpTransport


@pytest.fixture
async def transport():
    made = HttpTransport()
    yield made
    await made.aclose()


LONG = 10.0
"""Patience where the answer is what matters: a busy machine may need more than 200 ms for it."""


def service(name: str, base_url: str) -> Service:
    return Service(name, "openai-chat", base_url, local=True)


def nobody() -> str:
    """The address of a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_the_usual_ports_are_those_of_the_products() -> None:
    local = {s.name: s.base_url for s in services(Settings(), {}).values() if s.local}
    assert local == {
        "ollama": "http://127.0.0.1:11434/v1",
        "llama.cpp": "http://127.0.0.1:8080/v1",
        "lmstudio": "http://127.0.0.1:1234/v1",
        "vllm": "http://127.0.0.1:8000/v1",
    }


@pytest.mark.parametrize(
    ("name", "model", "window"),
    [
        ("ollama", "qwen3:8b", 40960),
        ("llama.cpp", "qwen.gguf", 16384),
        ("lmstudio", "qwen/qwen3-8b", 8192),
        ("vllm", "Qwen/Qwen3-8B", 32768),
    ],
)
async def test_each_product_is_found_with_its_first_model_and_its_real_window(transport, name, model, window):
    with LocalServer(PRODUCTS[name]) as server:
        offers = await discover([service(name, server.base_url)], transport, LONG)
    assert offers[0] == Offer(name, model, window)
    assert not [offer for offer in offers if "embed" in offer.model]


async def test_all_are_asked_at_once_and_come_in_their_order(transport):
    with ExitStack() as stack:
        known = [
            service(name, stack.enter_context(LocalServer(routes, delay=0.5)).base_url)
            for name, routes in PRODUCTS.items()
        ]
        began = time.monotonic()
        offers = await discover([*known[:2], service("x", nobody()), *known[2:]], transport, LONG)
        took = time.monotonic() - began
    assert [offer.model for offer in offers] == [
        "qwen3:8b",
        "llama3.2:3b",
        "qwen.gguf",
        "qwen/qwen3-8b",
        "Qwen/Qwen3-8B",
    ]
    assert took < 3.5  # seven answers of half a second: at once it is one second, one after another 3.5


async def test_a_server_that_does_not_answer_in_time_is_not_there(transport):
    with (
        LocalServer(VLLM) as good,
        LocalServer(OLLAMA, delay=1.0) as slow,
        socket.create_server(("127.0.0.1", 0)) as silent,
    ):
        known = [
            service("ollama", slow.base_url),
            service("lmstudio", f"http://127.0.0.1:{silent.getsockname()[1]}/v1"),
            service("vllm", good.base_url),
        ]
        began = time.monotonic()
        assert "ollama" not in [offer.provider for offer in await discover(known, transport)]
        assert time.monotonic() - began < PATIENCE + 0.7
        assert [offer.provider for offer in await discover(known[1:], transport, 1.0)] == ["vllm"]


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"<html>Jupyter</html>",
        b"[]",
        b'{"data": 5}',
        b'{"data": [5, {"id": 7}, {}]}',
        b'{"data": null}',
        b"\xff",
    ],
)
async def test_something_else_on_a_usual_port_offers_nothing(transport, page):
    with LocalServer({"GET /v1/models": page}) as server:
        assert await discover([service("vllm", server.base_url)], transport) == []
    with LocalServer(VLLM, status=401) as server:
        assert await discover([service("vllm", server.base_url)], transport) == []


async def test_only_this_machine_is_asked_and_only_local_services(transport):
    remote = service("ollama", "http://models.test:11434/v1")
    with LocalServer(VLLM) as server:
        paid = Service("openai", "openai-chat", server.base_url, ("OPENAI_API_KEY",))
        assert await discover([remote, paid], transport) == []
        assert server.asked == []


@pytest.mark.parametrize(
    ("name", "model", "routes", "window"),
    [
        ("ollama", "qwen3:8b", {**OLLAMA, "GET /api/ps": LOADED}, 4096),
        ("ollama", "other", {**OLLAMA, "GET /api/ps": LOADED}, 40960),
        ("ollama", "qwen3:8b", {**OLLAMA, "POST /api/show": {"parameters": "num_ctx                        8192\nstop x"}}, 8192),
        ("ollama", "qwen3:8b", {}, None),
        ("ollama", "qwen3:8b", {"POST /api/show": {"parameters": None, "model_info": []}}, None),
        ("llama.cpp", "qwen.gguf", {"GET /v1/models": LLAMA_CPP["GET /v1/models"]}, None),
        ("llama.cpp", "qwen.gguf", {"GET /props": {"default_generation_settings": {"n_ctx": -1}}}, None),
        ("lmstudio", "qwen/qwen3-8b", {"GET /api/v0/models": {"data": [{"id": "qwen/qwen3-8b", "max_context_length": 40960}]}}, 40960),
        ("lmstudio", "unknown", LM_STUDIO, None),
        ("vllm", "Qwen/Qwen3-8B", {"GET /v1/models": {"data": [{"id": "Qwen/Qwen3-8B", "max_model_len": "many"}]}}, None),
        ("custom", "m", VLLM, None),
    ],
)  # fmt: skip
async def test_the_window_is_what_a_request_really_gets_and_none_where_nobody_says(
    transport, name: str, model: str, routes: Any, window: int | None
) -> None:
    with LocalServer(routes) as server:
        assert await window_of(service(name, server.base_url), model, transport, patience=LONG) == window
    assert await window_of(service(name, nobody()), model, transport) is None
