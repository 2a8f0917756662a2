"""Google's own SDK, in an environment of its own: its types take our requests, its client our server's streams."""

import json
import subprocess
from pathlib import Path

import msgspec
import pytest
from peers.others import PEERS, there
from process.server import ServerThread
from providers.histories import HISTORIES
from providers.test_lower import B070
from providers.test_requests import body_of

from wisp.messages.message import user
from wisp.messages.tool import ToolSpec
from wisp.providers.base import ModelRequest
from wisp.providers.registry import dialect
from wisp.testing.asking import MODEL
from wisp.testing.steps import Call, Step

pytestmark = pytest.mark.peer
SCRIPT = Path(__file__).with_name("google_client.py")


def asked(**question):
    python = there(PEERS / "google" / "bin" / "python")
    done = subprocess.run(
        [python, SCRIPT], input=json.dumps(question), capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_googles_types_take_every_request_we_make():
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
    bodies = {name: body_of("gemini", history) for name, history in HISTORIES.items()}
    budget = msgspec.structs.replace(MODEL, compat={"thinking": "budget"})
    for name, model in (("level", MODEL), ("budget", budget)):
        bodies[name] = body_of(
            "gemini", [user("x")], model, effort="high", output_schema=schema, max_output=2000
        )
    tools = (ToolSpec("a.b", "d", B070), ToolSpec("plain", "d", schema))
    wire = dialect("gemini").builder("case").build(ModelRequest(MODEL, (user("a"),), (), tools))
    bodies["lowered tools"] = msgspec.json.decode(wire.body)
    answers = asked(validate=list(bodies.values()))
    assert {name: found for name, found in zip(bodies, answers, strict=True) if found} == {}


def test_googles_types_would_see_a_mistake():
    body = body_of("gemini", [user("x")])
    [found] = asked(validate=[{**body, "contents": [{"role": "user", "parts": [{"txt": "x"}]}]}])
    assert found


def test_googles_client_understands_our_servers_streams():
    calls = (Call("read", {"path": "a"}), Call("read", {"path": "b"}))
    with ServerThread([Step("Looking é🙂", "hm", calls), Step("done", after="content")]) as server:
        first, second = asked(stream=server.url)
        assert server.problems == []
    assert first["text"] == "Looking é🙂"
    assert first["thoughts"] == "hm"
    assert first["calls"] == [["read", {"path": "a"}], ["read", {"path": "b"}]]
    assert first["signed"]
    assert first["prompt"] > 0
    assert (second["text"], second["reason"]) == ("done", "STOP")
