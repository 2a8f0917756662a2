"""A second, independent implementation of all four streams drives whole turns with tools."""

import json
from pathlib import Path

import pytest
from peers.others import AIMOCK, NODE, free_port, program, served, there
from process.program import APIS, result_of

pytestmark = [pytest.mark.peer, pytest.mark.process]


def call(name: str, **arguments: object) -> dict[str, str]:
    return {"name": name, "arguments": json.dumps(arguments)}


TURNS = [
    {"content": "Looking.", "toolCalls": [call("bash", command="echo one é >> effect.txt")]},
    {"toolCalls": [call("bash", command="echo two >> effect.txt"), call("ls")]},
    {"toolCalls": [call("read", path="effect.txt")]},
    {"content": "All done: é and 漢字."},  # at one unit a chunk it would send halves of an emoji apart
]


@pytest.mark.parametrize("chunk", [1, 20])
@pytest.mark.parametrize("api", [*APIS, "gemini"])
def test_several_turns_with_tools_go_through_another_ones_server(
    api: str, chunk: int, tmp_path: Path
) -> None:
    fixtures = [
        {"match": {"userMessage": "mend it", "sequenceIndex": place}, "response": turn}
        for place, turn in enumerate(TURNS)
    ]
    file = tmp_path / "fixtures.json"
    file.write_text(json.dumps({"fixtures": fixtures}))
    port = free_port()
    argv = [
        str(there(NODE)),
        str(there(AIMOCK)),
        "-p",
        str(port),
        "-f",
        str(file),
        "--strict",
        "-c",
        str(chunk),
    ]
    with served(argv, port) as base:
        url = base + "/v1" if api.startswith("openai") else base
        wisp = program(tmp_path, api, url)
        done = wisp.run("-p", "mend it", "--permission-mode", "full", "--output-format", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        result = result_of(done)
        assert result["result"] == TURNS[-1]["content"]
        assert result["num_turns"] == 4
        assert (wisp.project / "effect.txt").read_text() == "one é\ntwo\n"
