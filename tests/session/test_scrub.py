"""Scrubbing takes credentials out of a stored session and leaves everything else byte for byte."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_world import records

from wisp.messages.content import Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Native, ToolResult, user
from wisp.session.codec import decode, encode
from wisp.session.fold import Fold
from wisp.session.journal import FileJournal, read_only
from wisp.session.lock import Locked
from wisp.session.records import MessageRecord, Record, SessionHeader
from wisp.session.scrub import Scrubber
from wisp.session.whole import create_private_folder, rewrite

VALUE = "correct/horse+battery staple&9"
SCRUBBER = Scrubber({"MY_TOKEN": VALUE, "SHORT": "abc"})
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----"
SHAPED = {
    "pem": PEM,
    "sk": "sk-proj-abcdefghijklmnop1234",
    "github": "ghp_" + "a1" * 18,
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "slack": "xoxb-123456789012-abcdef",
    "google": "AIza" + "x" * 35,
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
}


def scrubbed(text: str) -> tuple[str, dict[str, int]]:
    found: Counter[str] = Counter()
    return SCRUBBER.text(text, found), dict(found)


def _record(seq: int, message: object) -> Record:
    return Record(seq, f"id{seq}", "", "2026-01-01T00:00:00.000Z", MessageRecord(message))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", sorted(SHAPED))
def test_a_key_of_each_shape_is_replaced_wherever_it_stands(kind: str) -> None:
    """In prose, after an equals sign, in JSON, in JSON inside JSON."""
    secret = SHAPED[kind]
    for text in (secret, f"use {secret} here", f"K={secret}\n", f'"{secret}"', f"line\n{secret}"):
        for layers in range(3):
            whole = text
            for _ in range(layers):
                whole = json.dumps(whole)
            clean, found = scrubbed(whole)
            assert found == {kind: 1}, whole
            assert "MIIEow" not in clean and secret not in clean
            assert f"[scrubbed:{kind}]" in clean


@pytest.mark.parametrize(
    "text",
    ["task-management-is-a-long-word", "sk-short", "an AKIA word", "eyJ.eyJ.x", "-----BEGIN CERTIFICATE-----\nx", "abc", "xoxb", "ghp_", base64.b64encode(bytes(range(256))).decode()],
)  # fmt: skip
def test_what_only_resembles_a_key_stays(text: str) -> None:
    """Words, certificates, base64, values too short to be told from words."""
    assert scrubbed(text) == (text, {})


def test_a_known_value_is_found_in_its_disguises() -> None:
    """Plain, base64 at each alignment, URL, JSON."""
    disguises = [VALUE, quote(VALUE, safe=""), json.dumps({"a": VALUE})]
    disguises += [base64.b64encode(b"x" * lead + VALUE.encode()).decode() for lead in range(3)]
    for text in disguises:
        clean, found = scrubbed(f"<{text}>")
        assert found == {"MY_TOKEN": 1}, text
        assert "[scrubbed:MY_TOKEN]" in clean


@settings(max_examples=100, deadline=None)
@given(records(), st.sampled_from([*SHAPED.values(), VALUE]), st.data())
def test_only_lines_with_a_credential_change_and_keep_their_place(
    made: list[Record], secret: str, data: st.DataObject
) -> None:
    """Any records, one of them with a credential; a second pass finds nothing."""
    at = data.draw(st.integers(0, len(made)))
    holder = Record(99, "idx", "p", "2026-01-01T00:00:00.000Z", MessageRecord(user(f"a {secret} b")))
    lines = [encode(one) for one in [*made[:at], holder, *made[at:]]]

    found: Counter[str] = Counter()
    clean = [SCRUBBER.line(line, found) for line in lines]

    assert sum(found.values()) == 1
    assert clean[:at] + clean[at + 1 :] == lines[:at] + lines[at + 1 :]
    again = decode(clean[at])
    assert (again.seq, again.id, again.parent, again.at) == (99, "idx", "p", holder.at)
    assert isinstance(again.body, MessageRecord)
    assert again.body.message.text == f"a [scrubbed:{next(iter(found))}] b"  # type: ignore[union-attr]
    assert [SCRUBBER.line(line, found) for line in clean] == clean


def test_an_answer_that_changed_is_no_longer_signed_and_its_call_stays_json() -> None:
    """The provider would refuse its own words changed; ids are never touched."""
    call = ToolCall("sk-abcdefghijklmnopqrstu", "write", json.dumps({"path": "k", "content": f"a\n{PEM}\n"}))
    native = Native("anthropic-messages", "p", "m", (json.dumps({"text": SHAPED["sk"]}),))
    answer = AssistantMessage((Thinking("hm", "proof"), Text("x"), call), "m1", "tool_calls", None, native)
    found: Counter[str] = Counter()

    body = decode(SCRUBBER.line(encode(_record(1, answer)), found)).body

    assert isinstance(body, MessageRecord) and isinstance(body.message, AssistantMessage)
    assert body.message.native is None
    assert body.message.content[0] == Thinking("hm")
    (kept,) = body.message.calls
    assert kept.id == call.id
    assert json.loads(kept.arguments)["content"] == "a\n[scrubbed:pem]\n"
    result = _record(2, ToolResult(call.id, "write", (Text("ok"),)))
    assert SCRUBBER.line(encode(result), found) == encode(result)


def test_damaged_lines_and_records_glued_to_them_are_cleaned_too() -> None:
    """What is undamaged inside stays a record; the rest holds no secret either."""
    inner = encode(_record(2, user(f"inner {SHAPED['aws']}"))).rstrip()
    line = b'{"v":1,"seq":1,"half ' + SHAPED["github"].encode() + b" " + inner + b"\n"
    found: Counter[str] = Counter()

    clean = SCRUBBER.line(line, found)

    assert found == {"github": 1, "aws": 1}
    again = decode(clean[clean.rindex(b'{"v":') :]).body
    assert isinstance(again, MessageRecord)
    assert b"half [scrubbed:github] " in clean


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    create_private_folder(str(folder))
    file = folder / "s.jsonl"
    journal = FileJournal(str(file))
    header = Record(1, "id1", "", "2026-01-01T00:00:00.000Z", SessionHeader("s", "/w"))
    journal.append([header, _record(2, user("hello")), _record(3, user(SHAPED["sk"]))], sync=True)
    journal.close()
    return file


def test_the_file_is_replaced_in_one_step_stays_private_opens_and_goes_on(path: Path) -> None:
    """What was cut off its end earlier is cleaned as well."""
    path.with_name("s.jsonl.torn-9").write_text(f"half {VALUE}")
    before, found = path.read_bytes(), Counter[str]()

    rewrite(str(path), lambda line: SCRUBBER.line(line, found), keep=True)
    assert path.read_bytes() == before and found == {"sk": 1, "MY_TOKEN": 1}
    rewrite(str(path), lambda line: SCRUBBER.line(line, found), keep=False)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.with_name("s.jsonl.torn-9").read_text() == "half [scrubbed:MY_TOKEN]"
    assert [name for name in os.listdir(path.parent) if "new" in name] == []
    assert before.splitlines()[:2] == path.read_bytes().splitlines()[:2]
    journal = FileJournal(str(path))
    loaded = journal.load()
    assert loaded.damage == ()
    journal.append([_record(4, user("more"))], sync=True)
    journal.close()
    state = Fold(read_only(str(path)).records).state
    assert [message.text for message in state.messages] == ["hello", "[scrubbed:sk]", "more"]
    assert state.notes == [] or state.notes == ()


def test_a_session_in_use_is_left_alone_and_a_failure_leaves_the_old_file(path: Path) -> None:
    """Under its lock; all or nothing."""
    before = path.read_bytes()
    journal = FileJournal(str(path))
    with pytest.raises(Locked):
        rewrite(str(path), lambda _: b"", keep=False)
    journal.close()

    def fail(line: bytes) -> bytes:
        if b"hello" in line:
            raise OSError(28, "No space left on device")
        return b"x"

    with pytest.raises(OSError, match="No space"):
        rewrite(str(path), fail, keep=False)
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == ["s.jsonl", "s.jsonl.lock"]
