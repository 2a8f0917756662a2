"""Every format has its golden file and schema for ever, and no record of any format is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_world import records

from wisp.session.codec import BadLine, decode, encode, seal, unsealed
from wisp.session.fold import Fold
from wisp.session.journal import read_only
from wisp.session.migrate import STEPS, migrated
from wisp.session.records import KNOWN_TYPES, VERSION, MessageRecord, Record, UnknownRecord

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "reference"
FORMATS = range(1, VERSION + 1)
LINES = (HERE / "session-v1.jsonl").read_bytes().splitlines()


def test_every_format_has_a_golden_file_and_a_schema_and_a_step_to_the_next() -> None:
    """Whoever raises the number adds all three; what is there never goes."""
    numbers = sorted(int(re.sub(r"\D", "", path.stem)) for path in HERE.glob("session-v*.jsonl"))
    assert numbers == list(FORMATS)
    schemas = sorted(int(re.sub(r"\D", "", path.name)) for path in DOCS.glob("session-v*.schema.json"))
    assert schemas == list(FORMATS)
    assert sorted(STEPS) == list(range(1, VERSION))


@pytest.mark.parametrize("number", FORMATS)
def test_a_golden_file_fits_its_schema_and_opens_without_a_word(number: int) -> None:
    path = HERE / f"session-v{number}.jsonl"
    schema = json.loads((DOCS / f"session-v{number}.schema.json").read_text())
    valid = jsonschema.Draft202012Validator(schema)
    for line in path.read_bytes().splitlines():
        valid.validate(json.loads(line))
    loaded = read_only(str(path))
    assert (loaded.damage, loaded.newest_version) == ((), VERSION)
    assert not [r for r in loaded.records if isinstance(r.body, UnknownRecord)]
    assert Fold(loaded.records).state.notes == []


# A format after the next one, as it might be: `cost_usd` renamed and then nested, titles gone.


def second(record: dict[str, Any]) -> dict[str, Any] | None:
    if record["type"] == "title":
        return None
    return {**record, "price": record["cost_usd"]} if "cost_usd" in record else record


def third(record: dict[str, Any]) -> dict[str, Any]:
    assert record["v"] == 2
    return {**record, "cost_usd": record["price"] * 2} if "price" in record else record


def test_an_older_record_goes_through_every_step_to_this_format_while_it_is_read() -> None:
    """And is a record of this format from then on; its line is not touched."""
    steps = {1: second, 2: third}
    old, new = [decode(line) for line in LINES], [decode(line, steps, 3) for line in LINES]
    assert {record.v for record in new} == {1, 3}
    for before, after in zip(old, new, strict=True):
        assert (after.seq, after.id, after.parent, after.at) == (
            before.seq, before.id, before.parent, before.at,
        )  # fmt: skip
        if isinstance(before.body, MessageRecord) and before.body.cost_usd is not None:
            assert isinstance(after.body, MessageRecord)
            assert after.body.cost_usd == before.body.cost_usd * 2
            assert after.body.message == before.body.message
        elif before.body.__class__.__name__ == "TitleRecord":
            assert (after.body, after.v) == (UnknownRecord("title"), 1)
        else:
            assert after.body == before.body


def test_a_record_that_no_step_leads_from_is_passed_over() -> None:
    for steps in ({}, {2: third}, {1: second}):
        assert migrated({"v": 1, "type": "leaf"}, 1, steps, 3) is None
        assert decode(LINES[0], steps, 3).body == UnknownRecord("session")


def test_a_step_that_makes_no_record_of_it_costs_that_record_alone() -> None:
    def spoils(record: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in record.items() if name != "message"}

    assert isinstance(decode(LINES[1], {1: spoils}, 2).body, UnknownRecord)
    assert not isinstance(decode(LINES[0], {1: spoils}, 2).body, UnknownRecord)


def changed(line: bytes, **fields: Any) -> bytes:
    return seal({**json.loads(unsealed(line)), **fields})


@given(
    made=records(),
    number=st.integers(-5, 50),
    names=st.lists(st.sampled_from([*sorted(KNOWN_TYPES), "later.kind", "", "x" * 300]), max_size=5),
    fields=st.dictionaries(st.sampled_from(["message", "call", "facts", "new"]), st.none() | st.integers()),
)
def test_records_of_any_format_and_type_are_kept_and_at_worst_passed_over(
    made: list[Record], number: int, names: list[str], fields: dict[str, Any]
) -> None:
    """Between known ones: these mean what they meant."""
    lines = [encode(record).rstrip() for record in made]
    for name in names:
        lines.append(changed(lines[0], type=name, id=f"n{len(lines)}", v=number, **fields))
    got = [decode(line) for line in lines]
    assert [record.body for record in got[: len(made)]] == [record.body for record in made]
    assert [record.v for record in got[len(made) :]] == [number] * len(names)
    state = Fold(got).state
    assert [m.id for m in state.messages][: len(Fold(made).state.messages)] == [
        m.id for m in Fold(made).state.messages
    ]


def test_a_damaged_line_is_still_a_damaged_line_whatever_format_it_says() -> None:
    with pytest.raises(BadLine):
        decode(changed(LINES[0], v=0)[:-20])
