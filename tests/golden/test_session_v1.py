"""Files of released versions open with exactly what they held."""

import json
import shutil
import zlib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from session_world import records

from wisp.messages.usage import Usage
from wisp.session.codec import encode
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal, read_only
from wisp.session.records import KNOWN_TYPES, Record, SessionHeader

GOLDEN = Path(__file__).with_name("session-v1.jsonl")
DOCS = Path(__file__).parents[2] / "docs" / "reference"
SCHEMA = json.loads((DOCS / "session-v1.schema.json").read_text())
VALID = jsonschema.Draft202012Validator(SCHEMA)


def test_the_golden_file_opens_with_what_it_held() -> None:
    loaded = read_only(str(GOLDEN))
    state = Fold(loaded.records).state
    assert (loaded.damage, loaded.newest_version, state.notes) == ((), 1, [])
    assert state.header == SessionHeader("01kbsession", "/home/u/café", "wisp 0.1.0")
    assert [m.id for m in state.messages] == ["m01", "m02"]  # the last record goes back there
    assert (state.leaf, state.applied, [s.after for s in state.steps]) == ("m02", 0, ["8899aabbccddeeff"])
    assert [m.id for m in state.context] == ["summary", "m02"]
    state = Fold(loaded.records[:18]).state
    assert [type(m).__name__ for m in state.messages] == [
        "UserMessage", "AssistantMessage", "ToolResult", "ToolResult", "ToolResult",
        "AssistantMessage", "Notice", "UserMessage", "AssistantMessage",
    ]  # fmt: skip
    first, answer, read = state.messages[:3]
    assert first.text == "Fix add(2, 3) \u2014 it gives \u22121 \U0001f600"  # type: ignore[union-attr]
    assert [type(b).__name__ for b in answer.content] == [  # type: ignore[union-attr]
        "Thinking", "Thinking", "Text", "ToolCall", "ToolCall", "ToolCall", "Opaque",
    ]  # fmt: skip
    assert json.loads(answer.calls[1].arguments)["edits"][0]["new_text"] == "a + b"  # type: ignore[union-attr]
    assert answer.native.items == ('{"type":"text"}',)  # type: ignore[union-attr]
    assert (read.text, read.call_id) == ("return a - b", "call_2")  # type: ignore[union-attr]
    assert state.messages[5].stop == "cancelled"  # type: ignore[union-attr]
    assert (state.turns, state.runs_ended, state.next_seq, state.leaf) == (3, 2, 19, "m09")
    assert state.usage == Usage()  # one answer was cut, so nobody knows the sum
    assert state.cost_usd is None


def test_writing_the_golden_records_again_gives_the_golden_bytes(tmp_path: Path) -> None:
    loaded = read_only(str(GOLDEN))
    assert b"".join(map(encode, loaded.records)) == GOLDEN.read_bytes()


def test_the_golden_file_can_be_continued(tmp_path: Path) -> None:
    copy = tmp_path / "s.jsonl"
    shutil.copy(GOLDEN, copy)
    journal = FileJournal(str(copy))
    assert journal.load().damage == ()
    journal.close()
    assert copy.read_bytes() == GOLDEN.read_bytes()


def test_golden_lines_fit_the_schema_and_their_checksums() -> None:
    types = set()
    for line in GOLDEN.read_bytes().splitlines():
        value = json.loads(line)
        VALID.validate(value)
        types.add(value["type"])
        covered = line[: line.rindex(b',"sum"')]
        assert value["sum"] == f"{zlib.crc32(covered):08x}"
    assert types == KNOWN_TYPES


@given(records())
@settings(max_examples=30, deadline=None)
def test_every_record_that_is_written_fits_the_schema(made: list[Record]) -> None:
    for record in made:
        VALID.validate(json.loads(encode(record)))


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"seq": 0},
        {"id": ""},
        {"sum": "xyz"},
        {"message": {"type": "robot"}},
        {"message": {"type": "user", "content": [{"type": "smell"}]}},
    ],
)
def test_the_schema_refuses_what_is_no_record_of_format_1(change: dict[str, object]) -> None:
    line = json.loads(GOLDEN.read_bytes().splitlines()[1])
    VALID.validate({**line, "later": "field"})
    assert not VALID.is_valid({**line, **change})


def test_the_schema_is_itself_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_page_names_every_record_and_every_field() -> None:
    page = (DOCS / "session-format.md").read_text()
    for name in ("v", "seq", "id", "parent", "at", "type", "sum", *KNOWN_TYPES):
        assert f"`{name}`" in page, name
    for definition in SCHEMA["$defs"].values():
        for field in definition["properties"]:
            if "tokens" not in field:
                assert f"`{field}`" in page, field
