"""The model server refuses what a strict service would, and runs as a program."""

import asyncio
import json
import sys
import urllib.request

import msgspec
import pytest

from wisp.messages.message import user
from wisp.testing.asking import APIS, ask, provider_for, results_for
from wisp.testing.model_server import ModelServer
from wisp.testing.requests import problems_of
from wisp.testing.steps import Call, Step, steps_from

STRAY = {"role": "tool", "tool_call_id": "x", "content": ""}
STRAY_OUTPUT = {"type": "function_call_output", "call_id": "x"}
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("dialect", "body", "problem"),
    [
        ("chat", {"messages": []}, "no model"),
        ("chat", {"model": "m", "messages": [{"role": "assistant", "tool_calls": [CALL]}]}, "has no result"),
        (
            "chat",
            {"model": "m", "messages": [STRAY]},
            "no open call",
        ),
        (
            "responses",
            {"model": "m", "input": [STRAY_OUTPUT]},
            "no open call",
        ),
        (
            "messages",
            {"model": "m", "max_tokens": 1, "messages": [{"role": "assistant"}]},
            "first",
        ),
        ("messages", {"model": "m", "messages": [{"role": "user", "content": "x"}]}, "max_tokens"),
    ],
)
def test_what_a_strict_service_refuses_is_a_problem(dialect, body, problem):
    assert any(problem in text for text in problems_of(dialect, body))


@pytest.mark.parametrize("api", APIS)
async def test_a_step_may_demand_what_the_tools_reported(api):
    async with ModelServer([Step(calls=(Call("read"),)), Step("never", after="wanted")]) as server:
        provider = provider_for(server, api)
        message = (await ask(provider, [user("go")]))[-1].message
        failed = (await ask(provider, [user("go"), message, *results_for(message, "other")]))[-1]
        assert "lacks 'wanted'" in failed.message
        assert len(server.problems) == 1
        await provider.aclose()


async def test_a_callback_may_choose_the_steps():
    async with ModelServer(lambda request: Step(f"{request.dialect} {request.number}")) as server:
        for number, api in enumerate(APIS, 1):
            provider = provider_for(server, api)
            text = (await ask(provider, [user("go")]))[-1].message.text
            assert text.endswith(f" {number}")
            await provider.aclose()


def test_steps_are_read_from_json():
    steps = steps_from(b'{"steps":[{"text":"a","calls":[{"name":"read","arguments":{"path":"x"}}]}]}')
    assert steps == steps_from(msgspec.json.encode(steps))
    assert steps[0].calls[0].text == '{"path":"x"}'


@pytest.mark.process
async def test_it_runs_as_a_program_and_says_its_port(tmp_path):
    script = tmp_path / "script.json"
    script.write_text('[{"text": "hello"}]')
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "wisp.testing.model_server",
        "--script",
        str(script),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        port = json.loads(await process.stdout.readline())["port"]
        body = b'{"model":"m","messages":[{"role":"user","content":"x"}]}'
        url = f"http://127.0.0.1:{port}/v1/chat/completions"

        def post():
            with urllib.request.urlopen(urllib.request.Request(url, body), timeout=5) as answer:
                return answer.read()

        assert b"hello" in await asyncio.to_thread(post)
    finally:
        process.terminate()
        await process.wait()
