"""`--output-schema`: an answer that fits, or exit 1 and why; one chance to mend it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process

SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}'
RUN = ("-p", "go", "--output-schema", "s.json", "--output-format", "json")


def program(tmp_path: Path, server: ServerThread, schema: str = SCHEMA) -> Program:
    made = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
    (made.project / "s.json").write_text(schema)
    return made


@pytest.mark.parametrize("answer", ['{"a": 1}', '```json\n{"a": 1}\n```', ' {"a":1}\n'])
def test_an_answer_that_fits_is_the_structured_result(tmp_path: Path, answer: str) -> None:
    with ServerThread([{"text": answer}]) as server:
        done = program(tmp_path, server).run(*RUN)
        told = json.dumps(server.requests[0].json["messages"])

    result = json.loads(done.stdout)
    assert (done.returncode, result["structured"], result["is_error"]) == (0, {"a": 1}, False)
    assert "additionalProperties" in told


@pytest.mark.parametrize(
    "bad", ["not JSON", '{"a": "x"}', "{}", '{"a": 1, "b": 2}', '[{"a": 1}]', '{"a": 1} and more']
)
def test_an_answer_that_does_not_fit_may_be_given_again_once(tmp_path: Path, bad: str) -> None:
    with ServerThread([{"text": bad}, {"text": '{"a": 2}'}]) as server:
        done = program(tmp_path, server).run(*RUN)

    assert (done.returncode, json.loads(done.stdout)["structured"]) == (0, {"a": 2})


def test_an_answer_that_never_fits_ends_with_1_and_the_reason(tmp_path: Path) -> None:
    with ServerThread([{"text": "no"}, {"text": '{"a": "x"}'}]) as server:
        done = program(tmp_path, server).run(*RUN)
        requests = len(server.requests)

    result = json.loads(done.stdout)
    assert (done.returncode, requests) == (1, 2)
    assert (result["subtype"], result["structured"], result["is_error"]) == (
        "error_schema",
        None,
        True,
    )
    assert "'x' is not of type 'integer' (at $.a)" in result["error"]
    assert result["exit_code"] == 1


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        '{"type": 5}',
        '{"type": "thing"}',
        '{"$ref": "#"}',
        '{"$ref": "http://127.0.0.1:9/schema"}',
        '{"$ref": "#/$defs/none"}',
        '{"properties": {"a": {"$ref": "#/$defs/none"}}, "not": {"$ref": "#/$defs/no"}}',
    ],
)
def test_what_is_no_schema_is_a_usage_error_before_any_request(tmp_path: Path, schema: str) -> None:
    with ServerThread([]) as server:
        done = program(tmp_path, server, schema).run(*RUN)
        requests = len(server.requests)

    assert (done.returncode, requests) == (2, 0)
    assert "s.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reference_deep_in_a_schema_that_leads_nowhere_is_told_with_the_answer_and_not_fetched(
    tmp_path: Path,
) -> None:
    with ServerThread([{"text": '{"a": 1}'}, {"text": '{"a": 1}'}]) as server:
        schema = {"properties": {"a": {"$ref": f"{server.url}/schema"}}}
        done = program(tmp_path, server, json.dumps(schema)).run(*RUN)
        requests = len(server.requests)

    result = json.loads(done.stdout)
    assert (done.returncode, result["subtype"], requests) == (1, "error_schema", 2)
    assert "the schema cannot be applied" in result["error"]


@pytest.mark.parametrize(
    ("schema", "mended"),
    [
        ({"type": "object", "properties": {"a": {"pattern": "^(x+)+$"}}}, '{"a": "xx"}'),
        ({"type": "object", "patternProperties": {"^(x+)+$": {"type": "integer"}}}, '{"xx": 1}'),
    ],
)
def test_a_pattern_that_an_answer_makes_endless_is_a_fault_of_that_answer(
    tmp_path: Path, schema: dict[str, object], mended: str
) -> None:
    """`^(x+)+$` needs 2 to the power of 60 steps on 60 x and a !; what fits is still taken afterwards."""
    endless = "x" * 60 + "!"
    with ServerThread([{"text": json.dumps({"a": endless, endless: 1})}, {"text": mended}]) as server:
        done = program(tmp_path, server, json.dumps(schema)).run(*RUN, timeout=120)
        asked = json.dumps(server.requests[1].json["messages"])

    assert "takes more than 5 s" in asked
    assert (done.returncode, json.loads(done.stdout)["structured"]) == (0, json.loads(mended))


def test_patterns_are_held_against_answers_as_everything_else(tmp_path: Path) -> None:
    schema = json.dumps({"type": "object", "properties": {"a": {"pattern": "^[a-c\u00e4]+$"}}})
    with ServerThread([{"text": '{"a": "abd"}'}, {"text": '{"a": "ab\u00e4"}'}]) as server:
        done = program(tmp_path, server, schema).run(*RUN)
        asked = json.dumps(server.requests[1].json["messages"])

    assert "'abd' does not match" in asked
    assert (done.returncode, json.loads(done.stdout)["structured"]) == (0, {"a": "ab\u00e4"})


def test_an_answer_or_a_schema_that_goes_down_without_end_is_told(tmp_path: Path) -> None:
    """It is no JSON that could be read, and nothing breaks over it."""
    with ServerThread([{"text": "[" * 100_000}, {"text": "[1]"}]) as server:
        done = program(tmp_path / "a", server, "{}").run(*RUN)
    assert (done.returncode, json.loads(done.stdout)["structured"]) == (0, [1])
    with ServerThread([]) as server:
        done = program(tmp_path / "s", server, "[" * 100_000).run(*RUN)
    assert done.returncode == 2
    assert "nested too deeply" in json.loads(done.stdout)["error"]
