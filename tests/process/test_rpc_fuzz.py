"""`wisp rpc` under requests made from its own published schema, and under spoilt ones."""

from __future__ import annotations

import json
import os
import random
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from process.program import Program
from process.server import ServerThread

from wisp.testing.steps import Step

pytestmark = pytest.mark.process

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "reference" / "rpc.schema.json").read_text(encoding="utf-8")
)
WORDS = (
    "",
    "a",
    "0",
    "../..",
    "/help",
    "/new",
    "/undo yes",
    "\u0000",
    "\ud83d\ude00",
    "x" * 300,
    "full",
    "openai",
)


class Maker:
    """Values that a JSON Schema allows, and values that nothing allows."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, schema: dict[str, Any]) -> Any:
        """A value that fits `schema`."""
        if "$ref" in schema:
            return self.of(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return self.of(self.random.choice(schema["anyOf"]))
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object":
            wanted = schema.get("properties", {})
            required = schema.get("required", [])
            return {
                name: self.of(inner)
                for name, inner in wanted.items()
                if name in required or self.random.random() < 0.5
            }
        if kind == "array":
            return [self.of(schema.get("items", {})) for _ in range(self.random.randrange(3))]
        made = {
            "string": self.random.choice(WORDS),
            "integer": self.random.choice([0, 1, -1, 2**31, 2**62, 7]),
            "number": 0.5,
            "boolean": self.random.random() < 0.5,
            "null": None,
        }
        return made.get(str(kind))

    def junk(self, depth: int = 0) -> Any:
        """Anything at all."""
        simple = [None, True, -1, 1e300, "", "prompt", "\ud800", 10**30]
        if depth > 2 or self.random.random() < 0.6:
            return self.random.choice(simple)
        if self.random.random() < 0.5:
            return [self.junk(depth + 1) for _ in range(self.random.randrange(4))]
        keys = ["text", "id", "type", "jsonrpc", "x"]
        return {self.random.choice(keys): self.junk(depth + 1) for _ in range(self.random.randrange(4))}

    def line(self, number: int) -> tuple[str, bool]:
        """One line, and whether it is a request whose answer bears `number`."""
        method = self.random.choice([name for name in SCHEMA["methods"] if name not in NOT_HERE])
        request = {"jsonrpc": "2.0", "id": number, "method": method}
        params = SCHEMA["methods"][method]["params"]
        kind = self.random.random()
        if kind < 0.7:
            return json.dumps({**request, "params": self.of(params)}), True
        if kind < 0.8:
            spoilt = self.of(params)
            if spoilt:
                spoilt[self.random.choice(sorted(spoilt))] = self.junk()
            return json.dumps({**request, "params": spoilt}), True
        if kind < 0.9:
            return json.dumps({**request, "params": self.junk(), "more": self.junk()}), True
        text = json.dumps(request)
        cut = self.random.randrange(1, len(text))
        return text[:cut], False


NOT_HERE = {"shutdown", "credentials.begin_device_code"}
"""What ends the conversation, and what asks somebody on the network."""


@pytest.mark.parametrize("seed", [1, 2])
def test_every_request_is_answered_once_and_none_ends_the_program(tmp_path: Path, seed: int) -> None:
    maker = Maker(seed)
    count = 10_000 if os.environ.get("WISP_SOAK") else 400
    lines, expected = [], {1}
    hello = {"protocol": 1, "client": {"name": "fuzz"}}
    lines.append(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))
    for number in range(2, count + 2):
        line, answered = maker.line(number)
        lines.append(line)
        if answered and "\\ud800" not in line:  # half a character is no JSON text, so nobody knows the id
            expected.add(number)
    last = count + 2
    lines.append(json.dumps({"jsonrpc": "2.0", "id": last, "method": "shutdown"}))
    expected.add(last)
    with ServerThread(lambda _: Step(text="fine"), lenient=True) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        with program.start("rpc", stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            writing = threading.Thread(target=_feed, args=(process.stdin, lines))
            writing.start()
            frames = [json.loads(line) for line in process.stdout]
            writing.join(30)
            assert process.wait(60) == 0
            errors = process.stderr.read()

    assert "Traceback" not in errors
    given = [frame["id"] for frame in frames if frame.get("id") is not None]
    assert sorted(given) == sorted(expected)
    broken = [frame for frame in frames if frame.get("error", {}).get("code") == -32603]
    assert broken == []


def _feed(stdin: Any, lines: list[str]) -> None:
    for line in lines:
        stdin.write(line + "\n")
    stdin.flush()
