"""Conversations in other programs' formats: what must hold for any conversation, and for files made elsewhere."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.exchange.atif import atif
from wisp.exchange.claude import claude_lines, read_claude
from wisp.exchange.codex import read_codex
from wisp.exchange.markdown import fenced, markdown
from wisp.exchange.page import html_page
from wisp.exchange.pi import read_pi
from wisp.exchange.transcript import NotThatFormat, Said, Transcript
from wisp.messages.content import Image, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Message, Native, Notice, ToolResult, UserMessage
from wisp.messages.usage import Usage

WORDS = st.text(max_size=40)
NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
PIXEL = Image("image/png", "aGVsbG8=")
ARGUMENTS = st.dictionaries(NAMES, WORDS | st.integers(-9, 9), max_size=3).map(json.dumps)


@st.composite
def conversations(draw: st.DrawFn) -> Transcript:
    """A lawful conversation; ids of calls count from one in each message, as some services have it."""
    said: list[Message] = [UserMessage((Text(draw(WORDS) + "?"),))]
    for _ in range(draw(st.integers(0, 4))):
        calls = [ToolCall(f"call_{n}", draw(NAMES), draw(ARGUMENTS)) for n in range(draw(st.integers(0, 3)))]
        text = draw(st.text(min_size=1, max_size=40))
        blocks = (*([Thinking(draw(WORDS) + "!")] if draw(st.booleans()) else []), Text(text), *calls)
        usage = Usage(draw(st.integers(0, 99)), draw(st.integers(0, 99)), draw(st.integers(0, 99)), 0)
        stop: Any = "tool_calls" if calls else "stop"
        said.append(AssistantMessage(blocks, "", stop, usage, Native("openai-chat", "p", "m-1")))
        said += [ToolResult(c.id, c.name, (Text(draw(WORDS)),), draw(st.booleans())) for c in calls]
        if draw(st.booleans()):
            said.append(draw(st.sampled_from([Notice("a file changed"), UserMessage((Text("and"), PIXEL))])))
    stamped = [Said(one, f"2026-11-30T10:00:{n:02d}.000Z", 0.5) for n, one in enumerate(said)]
    return Transcript("s-1", "/work dir", draw(WORDS), "1.0", tuple(stamped))


def texts(message: Message) -> str:
    return message.text


@given(conversations())
def test_what_is_written_for_claude_code_is_read_back(transcript: Transcript) -> None:
    found = read_claude(claude_lines(transcript))

    def core(message: Message) -> Any:
        if isinstance(message, AssistantMessage):
            calls = [(c.id, c.name, json.loads(c.arguments)) for c in message.calls]
            return ("assistant", message.text, calls, message.usage)
        if isinstance(message, ToolResult):
            return ("result", message.call_id, message.name, message.text, message.is_error)
        return (type(message).__name__, message.text)

    assert [core(one.message) for one in found.said] == [core(one.message) for one in transcript.said]
    assert [one.at for one in found.said] == [one.at for one in transcript.said]
    assert found.cwd == "/work dir"
    assert found.lost == {}


@given(conversations())
def test_every_result_of_a_trajectory_stands_in_the_step_that_made_the_call(transcript: Transcript) -> None:
    whole = json.loads(atif(transcript))

    assert [step["step_id"] for step in whole["steps"]] == list(range(1, len(whole["steps"]) + 1))
    for step in whole["steps"]:
        made = [call["tool_call_id"] for call in step.get("tool_calls", [])]
        answered = [one["source_call_id"] for one in step.get("observation", {}).get("results", [])]
        assert answered == made
    results = [one.message.text for one in transcript.said if isinstance(one.message, ToolResult)]
    told = [
        one["content"] for step in whole["steps"] for one in step.get("observation", {}).get("results", [])
    ]
    assert told == results
    assert whole["final_metrics"]["total_prompt_tokens"] == transcript.usage.prompt_tokens


class Structure(HTMLParser):
    """Which elements and attributes a page really has, and that every one is closed."""

    VOID = ("meta", "input", "img", "br", "hr", "link")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


EVIL = (
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "[click](javascript:alert(1))",
    "![p](https://evil.test/beacon.png)",
    "</pre></details></article><script>alert(1)</script>",
    "<https://example.test/a> and [b](https://example.test 'x\"y')",
    "# a\n## b\n| a | b |\n|---|---|\n| <b>c</b> | d |",
)


@settings(deadline=None)
@given(conversations(), st.sampled_from(EVIL))
def test_a_page_runs_and_fetches_nothing_whatever_was_said(transcript: Transcript, evil: str) -> None:
    more = [
        Said(UserMessage((Text(evil),)), ""),
        Said(
            AssistantMessage((Thinking(evil), Text(evil), ToolCall("c", evil, json.dumps({"a": evil})))), evil
        ),
        Said(ToolResult("c", evil, (Text(evil),)), ""),
    ]
    page = html_page(Transcript("s", evil, evil, "1", (*transcript.said, *more))).decode()
    read = Structure()
    read.feed(page)

    assert read.open == []
    assert [tag for tag, _ in read.seen if tag in ("script", "iframe", "link", "object", "base")] == [
        "script"
    ]
    for tag, attributes in read.seen:
        assert not [name for name in attributes if name.startswith("on")]
        assert tag != "img" or str(attributes["src"]).startswith("data:image/")
        assert not str(attributes.get("href") or "").lower().strip().startswith(("javascript", "data"))
    assert "alert(1)" not in page.partition("<script>")[2].partition("</script>")[0]
    ids = [a["id"] for _, a in read.seen if "id" in a]
    assert len(set(ids)) == len(ids)


@given(st.text(alphabet="`a \n", max_size=60))
def test_nothing_in_a_fence_closes_it(text: str) -> None:
    fence, *inner = fenced(text).split("\n")

    assert inner[-1] == fence
    assert not [line for line in inner[:-1] if re.fullmatch(f" {{0,3}}`{{{len(fence)},}} *", line)]


@given(conversations())
def test_markdown_holds_every_word_of_every_person_and_model(transcript: Transcript) -> None:
    text = markdown(transcript).decode()

    assert all(one.message.text in text for one in transcript.said if isinstance(one.message, UserMessage))


@given(st.binary(max_size=300))
@pytest.mark.parametrize("read", [read_claude, read_codex, read_pi])
def test_bytes_that_are_no_session_are_refused_and_nothing_else_happens(read: Any, data: bytes) -> None:
    with pytest.raises(NotThatFormat):
        read(data)


LINES = {
    "claude": [
        {
            "type": "user",
            "uuid": "1",
            "parentUuid": None,
            "sessionId": "s",
            "cwd": "/p",
            "message": {"role": "user", "content": "hi"},
            "timestamp": "t1",
        },
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "sessionId": "s",
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "one"}]},
        },
        {
            "type": "assistant",
            "uuid": "3",
            "parentUuid": "2",
            "sessionId": "s",
            "message": {
                "id": "m",
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c", "name": "Read", "input": {"file_path": "a"}}],
            },
        },
        {
            "type": "user",
            "uuid": "4",
            "parentUuid": "3",
            "sessionId": "s",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "A"}],
            },
        },
    ],
    "codex": [
        {"timestamp": "t0", "type": "session_meta", "payload": {"id": "s", "cwd": "/p"}},
        {
            "timestamp": "t1",
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        },
        {
            "timestamp": "t2",
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "one"}],
            },
        },
        {
            "timestamp": "t3",
            "type": "response_item",
            "payload": {
                "type": "function_call",
                "name": "Read",
                "call_id": "c",
                "arguments": '{"file_path":"a"}',
            },
        },
        {
            "timestamp": "t4",
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "c", "output": "A"},
        },
    ],
    "pi": [
        {"type": "session", "version": 3, "id": "s", "cwd": "/p"},
        {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "hi"}},
        {
            "type": "message",
            "id": "2",
            "parentId": "1",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "one"},
                    {"type": "toolCall", "id": "c", "name": "Read", "arguments": {"file_path": "a"}},
                ],
            },
        },
        {
            "type": "message",
            "id": "3",
            "parentId": "2",
            "message": {
                "role": "toolResult",
                "toolCallId": "c",
                "toolName": "Read",
                "content": [{"type": "text", "text": "A"}],
            },
        },
    ],
}
READERS: dict[str, Any] = {"claude": read_claude, "codex": read_codex, "pi": read_pi}


def lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("source", LINES)
def test_a_conversation_with_a_call_is_taken_from_each_agent(source: str) -> None:
    found = READERS[source](lines(LINES[source]))
    hi, answer, result = (one.message for one in found.said)

    assert (hi.text, answer.text, result.text) == ("hi", "one", "A")
    assert [(c.id, c.name, json.loads(c.arguments)) for c in answer.calls] == [
        ("c", "Read", {"file_path": "a"})
    ]
    assert (result.call_id, result.name) == ("c", "Read")
    assert (found.session_id, found.cwd, found.lost) == ("s", "/p", {})


@pytest.mark.parametrize("source", LINES)
@given(data=st.data())
def test_spoilt_files_are_read_as_far_as_they_go(source: str, data: st.DataObject) -> None:
    """A value anywhere is exchanged for junk, a line is lost, doubled or cut: never an exception of ours."""
    rows = json.loads(json.dumps(LINES[source]))
    junk = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    )
    for _ in range(data.draw(st.integers(1, 4))):
        at = rows
        while True:
            keys = list(at) if isinstance(at, dict) else range(len(at))
            key = data.draw(st.sampled_from(list(keys)))
            if isinstance(at[key], dict | list) and at[key] and data.draw(st.booleans()):
                at = at[key]
                continue
            at[key] = data.draw(junk)
            break
    whole = lines(rows)
    cut = whole[: data.draw(st.integers(0, len(whole)))] if data.draw(st.booleans()) else whole
    try:
        found = READERS[source](cut)
    except NotThatFormat:
        return
    assert all(isinstance(one.message.text, str) for one in found.said)


def test_what_was_left_out_is_counted() -> None:
    rows = [
        *LINES["claude"],
        {"type": "user", "uuid": "9", "parentUuid": "1", "isSidechain": True, "message": {"content": "x"}},
        {"type": "summary", "summary": "s"},
        {"type": "file-history-snapshot"},
    ]
    found = read_claude(lines(rows) + b"{cut")

    assert found.lost == {
        "messages of subagents": 1,
        "summaries": 1,
        "lines of other kinds": 1,
        "damaged lines": 1,
    }


def test_the_branch_that_was_written_last_is_taken() -> None:
    other = {
        "type": "user",
        "uuid": "7",
        "parentUuid": "1",
        "sessionId": "s",
        "message": {"content": "again"},
    }
    found = read_claude(lines([*LINES["claude"], other]))

    assert [one.message.text for one in found.said] == ["hi", "again"]
    assert found.lost == {"messages of other branches": 3}


@pytest.mark.parametrize("write", [markdown, html_page, claude_lines, atif])
@pytest.mark.parametrize(
    "arguments",
    ["[" * 200_000 + "]" * 200_000, '{"a":' * 5_000 + "1" + "}" * 5_000, "[1]", "no json", '{"a": NaN}'],
)
def test_arguments_that_are_no_object_or_too_deep_to_read_are_written_as_they_stand(
    write: Any, arguments: str
) -> None:
    """A session file of somebody else may hold any."""
    said = Said(
        AssistantMessage((ToolCall("c", "bash", arguments),), "a", "tool_calls"), "2026-01-01T00:00:00Z"
    )
    made = write(Transcript("s", "/w", "t", "1", (said,))).decode()
    bare = re.sub(r"[\s\\]", "", made.replace("&quot;", '"'))
    assert re.sub(r"\s", "", arguments) in bare
    if write is claude_lines:
        for line in made.splitlines():
            json.loads(line, parse_constant=pytest.fail)
    elif write is atif:
        json.loads(made, parse_constant=pytest.fail)
