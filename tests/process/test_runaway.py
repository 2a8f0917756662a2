"""A model that never comes to an end is stopped at the run's ceiling, and what is told of it is true."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from process.program import Program, result_of
from process.server import ServerThread

from wisp.testing.requests import Request
from wisp.testing.steps import Call, Step

pytestmark = pytest.mark.process

FORMS = ("json", "stream-json", "text")
MODES = ("read-only", "ask", "auto", "full")
PRICES = "input_price = 1.0\noutput_price = 2.0"
"""US dollars per million tokens."""


def endless(name: str, arguments: dict[str, Any], *, vary: bool = False) -> Any:
    """A model that calls one tool for ever, the same call or one that differs each time."""

    def answer(request: Request) -> Step:
        given = {**arguments, **({"limit": 1000 + request.number} if vary else {})}
        return Step(calls=(Call(name, given),), usage={"input": 1000, "output": 100})

    return answer


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ceiling", ["turns", "tokens", "cost"])
def test_the_same_call_without_end_stops_at_each_ceiling(tmp_path: Path, ceiling: str, form: str) -> None:
    """1,100 tokens and 0.0012 dollars a request: what each ceiling allows is arithmetic."""
    options = {
        "turns": ("--max-turns", "3"),
        "tokens": ("--max-tokens", "4000"),
        "cost": ("--max-cost", "0.0040"),
    }
    with ServerThread(endless("ls", {}), lenient=True) as server:
        program = Program(
            tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"), more=PRICES
        )
        done = program.run("-p", "go", "--output-format", form, *options[ceiling])
        asked = len(server.requests)
    assert done.returncode == 5, done.stderr
    assert asked <= 4
    if form == "text":
        assert "Traceback" not in done.stderr and ceiling[:4] in done.stderr
        return
    result = result_of(done)
    assert (result["is_error"], result["num_turns"]) == (True, asked)
    assert result["subtype"] == f"error_max_{ceiling}"
    assert result["usage"]["output_tokens"] == 100 * asked
    assert result["total_cost_usd"] == pytest.approx(0.0012 * asked)


@pytest.mark.parametrize("mode", MODES)
def test_a_megabyte_a_call_stops_at_the_ceiling_and_no_request_grows_with_it(
    tmp_path: Path, mode: str
) -> None:
    """Every call reads a file of a megabyte in another way; each request holds at most 50,000 bytes a call more."""
    with ServerThread(endless("read", {"path": "big.txt"}, vary=True), lenient=True) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        (program.project / "big.txt").write_text("x" * 99 + "\n" + ("y" * 99 + "\n") * 10486)
        done = program.run(
            "-p", "go", "--permission-mode", mode, "--max-turns", "6", "--output-format", "json", timeout=110
        )
        sizes = [len(request.body) for request in server.requests]
    result = result_of(done)
    assert (done.returncode, result["subtype"], result["num_turns"]) == (5, "error_max_turns", 6), done.stderr
    assert len(sizes) == 6
    assert max(b - a for a, b in itertools.pairwise(sizes)) < 60_000
    [session] = program.sessions()
    kept = [json.loads(line) for line in session.read_bytes().splitlines()]
    assert sum(record.get("message", {}).get("type") == "tool_result" for record in kept) == 6


def test_without_any_ceiling_ten_turns_alike_end_it_and_the_model_was_warned(tmp_path: Path) -> None:
    """`max_repeats` is 10 unless said otherwise."""
    with ServerThread(endless("ls", {}), lenient=True) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        done = program.run("-p", "go", "--output-format", "json")
        last = json.dumps(server.requests[-1].json)
    result = result_of(done)
    assert result["num_turns"] == len(server.requests) == 10 and result["is_error"]
    assert done.returncode == result["exit_code"] != 0
    assert "made the same calls" in last
