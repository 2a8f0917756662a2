"""A record is one ASCII line and comes back the same; damage is found; what is unknown is left alone."""

import json
import zlib

import pytest
from hypothesis import given, settings
from session_world import records

from wisp.messages.content import Text
from wisp.messages.message import UserMessage
from wisp.session.codec import BadLine, decode, encode, salvage
from wisp.session.records import AuditRecord, MessageRecord, Record, UnknownRecord


@given(records())
def test_a_record_comes_back_the_same(made: list[Record]) -> None:
    for record in made:
        line = encode(record)
        assert line.isascii()
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert b"\r" not in line
        assert decode(line) == decode(line.rstrip(b"\n")) == decode(line.rstrip() + b"\r\n") == record


@given(records(most=1))
def test_a_line_is_plain_json_with_a_checksum_that_others_can_compute(made: list[Record]) -> None:
    line = encode(made[0])
    value = json.loads(line)
    assert (value["v"], value["seq"], value["type"]) == (1, 1, value["type"])
    covered = line[: line.rindex(b',"sum"')]
    assert int(value["sum"], 16) == zlib.crc32(covered)


SAMPLE = Record(
    3, "i", "p", "2026-01-01T00:00:00.000Z", MessageRecord(UserMessage((Text('say "é" {"v":1}'),), "i"))
)


def test_every_flipped_bit_of_a_line_is_found() -> None:
    line = encode(SAMPLE).rstrip(b"\n")
    for place in range(len(line)):
        for bit in range(8):
            damaged = bytearray(line)
            damaged[place] ^= 1 << bit
            if bytes(damaged).rstrip(b"\r\n") == line:
                continue
            with pytest.raises(BadLine):
                decode(bytes(damaged))


def test_every_cut_line_is_found() -> None:
    line = encode(SAMPLE).rstrip(b"\n")
    for place in range(len(line)):
        with pytest.raises(BadLine):
            decode(line[:place])


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"x" * 100, b"\x00" * 4096, b'{"v":1,"sum":"00000000"}', b"\xff" * 50, b'{"sum":"']
)
def test_what_is_no_record_is_refused(line: bytes) -> None:
    with pytest.raises(BadLine):
        decode(line)


def signed(covered: bytes) -> bytes:
    return b'%s,"sum":"%08x"}' % (covered, zlib.crc32(covered))


HEAD = b'{"v":1,"seq":4,"id":"i","parent":"p","at":"t"'


def test_a_record_of_an_unknown_type_is_kept_as_unknown() -> None:
    assert decode(signed(HEAD + b',"type":"branch","from":"x"')).body == UnknownRecord("branch")


def test_unknown_fields_do_not_matter() -> None:
    line = signed(HEAD + b',"type":"audit","kind":"k","facts":{},"later":[1,{"a":2}]')
    assert decode(line).body == AuditRecord("k", {})


def test_a_signed_line_that_is_no_json_or_lacks_a_field_is_refused() -> None:
    for covered in (
        b'{"v":1',
        HEAD,
        HEAD + b',"type":',
        b"[" * 5000,
        HEAD + b',"type":"audit","kind":"k","facts":' + b"[" * 5000 + b"]" * 5000,
    ):
        with pytest.raises(BadLine):
            decode(signed(covered))


@given(records())
@settings(max_examples=40)
def test_glued_records_are_all_found_and_what_is_torn_is_left(made: list[Record]) -> None:
    lines = [encode(record).rstrip(b"\n") for record in made]
    glued = lines[0][: len(lines[0]) // 2] + b"".join(lines) + lines[0][:-1]
    found = salvage(glued)
    assert [item.record for item in found] == made
    assert [glued[item.start : item.end] for item in found] == lines


def test_a_hostile_line_costs_no_more_than_a_long_one() -> None:
    line = b'{"v":' * 400_000 + b',"sum":"00000000"}' * 10_000
    assert salvage(line) == []


def test_a_lone_surrogate_can_be_written_and_becomes_the_replacement_character() -> None:
    record = Record(1, "i", "", "t", MessageRecord(UserMessage((Text("a\ud800b"),), "i")))
    body = decode(encode(record)).body
    assert isinstance(body, MessageRecord)
    assert body.message == UserMessage((Text("a\ufffdb"),), "i")
