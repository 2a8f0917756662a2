"""The parts of the agent for editors that need no process: lines, answers, pieces, diffs, offers."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.frontends.acp.asking import Asking
from wisp.frontends.acp.calls import diffs, in_fence, locations_of
from wisp.frontends.acp.options import ELSEWHERE, MODE_IDS
from wisp.frontends.acp.updates import MOST_JOINED, Teller
from wisp.frontends.wire.peer import Gone, Peer, RpcError
from wisp.frontends.wire.pipes import Input, Output, TooLong
from wisp.host.commands import Answer
from wisp.host.events import (
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    QuestionAsked,
    ToolApprovalRequested,
    ToolCalled,
    ToolExecutionProgress,
)
from wisp.host.slash import COMMANDS
from wisp.policy.modes import MODES
from wisp.tools.diff import whole


class Echo:
    """Answers with what it was given; `wait` waits until it is cancelled."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def request(self, method: str, params: bytes) -> Any:
        if method == "wait":
            await asyncio.Event().wait()
        if method == "bug":
            raise ZeroDivisionError("a bug")
        if method == "no":
            raise RpcError(-7, "no", {"why": "because"})
        return json.loads(params)

    async def notification(self, method: str, params: bytes) -> None:
        self.told.append(method)


class Line:
    """The far end of a connection."""

    def __init__(self, peer: Peer, writing: int, reading: int) -> None:
        self.peer = peer
        self._writing = writing
        self._lines = Input(reading, 1 << 26).lines()

    def write(self, *messages: Any) -> None:
        text = "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)
        os.write(self._writing, text.encode("utf-8", "surrogatepass"))

    async def read(self, count: int) -> list[Any]:
        """That many messages."""
        found = []
        async with asyncio.timeout(60):
            async for line in self._lines:
                assert isinstance(line, bytes)
                found.append(json.loads(line))
                if len(found) == count:
                    break
        return found

    def close(self) -> None:
        os.close(self._writing)


@asynccontextmanager
async def connection(**more: Any) -> AsyncIterator[Line]:
    """A peer that echoes, and its far end."""
    to_read, far_write = os.pipe()
    far_read, to_write = os.pipe()
    peer = Peer(Input(to_read, 1 << 20), Output(to_write), Echo(), log=lambda _: None, **more)
    line = Line(peer, far_write, far_read)
    listening = asyncio.ensure_future(peer.listen())
    try:
        yield line
    finally:
        line.close()
        async with asyncio.timeout(60):
            await listening
            await peer.settle(5)
        for descriptor in (to_read, far_read, to_write):
            os.close(descriptor)


def call(number: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@given(
    st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b), max_size=20),
    st.booleans(),
    st.integers(1, 30),
)
def test_lines_are_the_same_however_they_arrive(lines: list[bytes], ended: bool, size: int) -> None:
    """In pieces of any size; the last with or without its end; too long ones are told and passed over."""
    whole_text = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    expected: list[Any] = [TooLong if len(line) > 20 else line for line in lines]
    if not (ended and lines) and lines and not lines[-1]:
        expected.pop()

    async def run() -> list[Any]:
        reading, writing = os.pipe()
        rest = whole_text

        async def feed() -> None:
            nonlocal rest
            while rest:
                os.write(writing, rest[:size])
                rest = rest[size:]
                await asyncio.sleep(0)
            os.close(writing)

        feeding = asyncio.ensure_future(feed())
        found = [TooLong if isinstance(line, TooLong) else line async for line in Input(reading, 20).lines()]
        await feeding
        os.close(reading)
        return found

    assert asyncio.run(run()) == expected


async def test_every_request_is_answered_under_its_own_id() -> None:
    """Numbers beyond 64 bits, texts with anything in them, null: the id comes back as it was."""
    numbers = [1, -5, 10**30, 1.5, "a", "", 'é"\n', None]
    async with connection() as line:
        line.write(*(call(number, "echo", [number]) for number in numbers))
        answers = await line.read(len(numbers))
    assert [(a["id"], a["result"]) for a in answers] == [(number, [number]) for number in numbers]


@pytest.mark.parametrize(
    ("text", "number", "code"),
    [
        ("{", None, -32700),
        ("\ufeff{}", None, -32700),
        ("[]", None, -32600),
        ("{}", None, -32600),
        ('{"jsonrpc":"2.0","id":7}', 7, -32600),
        ('{"jsonrpc":"1.0","id":7,"method":"echo"}', 7, -32600),
        ('{"jsonrpc":"2.0","id":[7],"method":"echo"}', None, -32600),
        ('{"jsonrpc":"2.0","id":true,"method":"echo"}', None, -32600),
        ('{"jsonrpc":"2.0","id":7,"method":1}', 7, -32600),
        ('{"jsonrpc":"2.0","id":7,"method":"echo","params":["\\ud800"]}', 7, -32600),
        ('{"jsonrpc":"2.0","id":7,"method":"bug"}', 7, -32603),
        ('{"jsonrpc":"2.0","id":7,"method":"no"}', 7, -7),
        ('{"jsonrpc":"2.0","id":7,"params":' + "[" * 20_000 + "]" * 20_000 + "}", None, -32700),
    ],
)
async def test_what_is_wrong_is_answered_and_the_next_is_served(text: str, number: Any, code: int) -> None:
    """By the codes of JSON-RPC 2.0."""
    async with connection() as line:
        line.write(text, call(8, "echo"))
        wrong, right = await line.read(2)
    assert (wrong["id"], wrong["error"]["code"]) == (number, code)
    assert (right["id"], "result" in right) == (8, True)


async def test_notifications_and_answers_that_were_not_asked_for_are_not_answered() -> None:
    """Also broken ones."""
    async with connection() as line:
        line.write(
            {"jsonrpc": "2.0", "method": "told"},
            '{"jsonrpc":"2.0","method":"told","params":"\\ud800"}',
            {"jsonrpc": "2.0", "id": 99, "result": 1},
            {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": ""}},
            {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}},
            "",
            "  ",
            call(1, "echo"),
        )
        (answer,) = await line.read(1)
    assert answer["id"] == 1


@pytest.mark.parametrize("begun", [True, False])
async def test_a_request_that_is_cancelled_is_answered_also_before_its_turn_came(begun: bool) -> None:
    """Once, with the code for it; another under the same id afterwards is a new one."""
    async with connection(cancellable=("wait",)) as line:
        cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 3}}
        line.write(call(3, "wait"))
        if begun:
            line.write(call(1, "echo"))
            await line.read(1)
        line.write(cancel, call(3, "echo", "again"))
        answers = await line.read(2)
    assert sorted(str(a.get("result", a.get("error", {}).get("code"))) for a in answers) == [
        "-32800",
        "again",
    ]


async def test_requests_of_ours_fail_when_the_other_side_leaves() -> None:
    """Nobody waits for ever."""
    async with connection() as line:
        asking = asyncio.ensure_future(line.peer.ask("session/request_permission", {}))
        await line.read(1)
        line.close()
        with pytest.raises(Gone):
            async with asyncio.timeout(60):
                await asking
        line.close = lambda: None  # type: ignore[method-assign]


async def test_a_client_that_is_slow_gets_fewer_and_longer_pieces_of_the_same_answer() -> None:
    """Nothing is lost or moved, thinking and text are not mixed, and a withdrawn beginning stays apart."""
    async with connection() as line:
        teller = Teller(line.peer, "s", "/w")
        teller.event(MessageStarted(1, "m1"))
        text = [f"{number} " for number in range(20_000)]
        for piece in text:
            teller.event(MessageDelta(1, piece))
        teller.event(MessageDelta(1, "hm", content_kind="thinking"))
        teller.event(MessageDelta(1, "so"))
        teller.event(MessageWithdrawn(1, "m1", "it broke off"))
        teller.event(MessageStarted(1, "m2"))
        teller.event(MessageDelta(1, "so"))
        least = sum(map(len, text)) // MOST_JOINED
        found: list[Any] = []
        while not found or found[-1]["update"].get("messageId") != "m2":
            found += [message["params"] for message in await line.read(1)]
    updates = [
        (p["update"]["sessionUpdate"], p["update"].get("messageId"), p["update"]["content"]["text"])
        for p in found
    ]
    long = [words for _, _, words in updates[:-4]]
    assert "".join(long) == "".join(text) and least <= len(long) <= least + 2
    assert updates[-4:] == [
        ("agent_thought_chunk", "m1", "hm"),
        ("agent_message_chunk", "m1", "so"),
        (
            "agent_thought_chunk",
            None,
            "[it broke off: what was said of this answer does not count, it begins again]\n",
        ),
        ("agent_message_chunk", "m2", "so"),
    ]


TEXTS = st.lists(
    st.sampled_from(
        ["a\n", "b\n", "\n", "  c\r\n", "é 漢\n", "--- x\n", "+++ b/y\n", "@@ -1 +1 @@\n", "\\ No\n"]
    ),
    max_size=12,
)


def results(old: str, hunks: list[tuple[str, str]]) -> set[str]:
    """Every text that replacing the hunks in order, each once, can give."""
    if not hunks:
        return {old}
    (before, after), *others = hunks
    places = [at for at in range(len(old) - len(before) + 1) if old.startswith(before, at)]
    return {old[:at] + after + rest for at in places for rest in results(old[at + len(before) :], others)}


@given(TEXTS, TEXTS, st.booleans(), st.sampled_from(["a.py", "b c.py", 'q"\\.py', "é/\t.py"]))
def test_a_diff_in_hunks_turns_the_old_text_into_the_new(
    before: list[str], after: list[str], end: bool, name: str
) -> None:
    """Putting each hunk's new text where its old one stood gives the new file, whatever the lines look like."""
    old, new = "".join(before), "".join(after) + ("" if end else "last")
    parts = diffs(whole(old, new, name).text, "/w")
    assert {part.path for part in parts} <= {"/w/" + name}
    assert new in results(old, [(part.old_text or "", part.new_text) for part in parts])
    assert bool(parts) == (old != new)


def test_a_diff_that_is_cut_is_shown_as_none() -> None:
    """Half a change must not look like a whole one."""
    text = whole("a\nb\nc\n", "a\nx\nc\n", "f").text
    assert len(diffs(text, "/w")) == 1
    assert all(diffs(text[:cut], "/w") == () for cut in range(text.index("@@"), len(text) - 1))


@given(st.text(st.sampled_from("`a\n~ "), max_size=60))
def test_a_code_block_ends_where_the_text_ends(text: str) -> None:
    """No line within closes it (CommonMark: a fence is closed by one at least as long)."""
    first, *lines, last = in_fence(text).split("\n")
    assert first == last and set(first) == {"`"} and len(first) >= 3
    assert not any(set(line.strip()) == {"`"} and len(line.strip()) >= len(first) for line in lines)


def test_places_are_absolute_and_each_is_named_once() -> None:
    """Of one file or of several; what is no path is left out."""
    found = locations_of(
        {"path": "a/../b.py", "offset": 7, "edits": [{"path": "/x"}, {"path": "b.py"}, {}, 3]}, "/w"
    )
    assert [(place.path, place.line) for place in found] == [("/w/b.py", 7), ("/x", None)]
    assert locations_of({"path": 3, "offset": "x"}, "/w") == ()


def test_every_mode_of_the_policy_is_offered_and_every_command_has_its_place() -> None:
    """What an editor does itself is named among the commands there are."""
    assert set(MODES) == MODE_IDS
    assert set(ELSEWHERE) <= {command.name for command in COMMANDS}


async def test_half_a_surrogate_pair_leaves_as_a_replacement_character() -> None:
    """A file name may hold one; JSON may not. Requests are answered under their id even so."""
    async with connection() as line:
        Teller(line.peer, "s", "/w").event(MessageDelta(turn=1, delta="a\ud800b"))
        line.write(call("x", "echo", "\\ud800"))
        told, _ = await line.read(2)
    assert told["params"]["update"]["content"]["text"] == "a\ufffdb"


EVIL = "a\x1b]52;c;eA==\x07b\x9b2J\x1b[2Jc\x00\u202ed\r\nFORGED"


async def test_what_an_editor_is_asked_to_show_for_a_decision_drives_and_hides_nothing() -> None:
    """Title, reason, rule and the operation itself are made visible; an option comes back as it was."""

    class Host:
        def __init__(self) -> None:
            self.sent: list[Any] = []

        def snapshot(self) -> Any:
            return SimpleNamespace(cwd="/w")

        async def send(self, command: Any) -> None:
            self.sent.append(command)

    async def cancel() -> None: ...

    host: Any = Host()
    async with connection() as line:
        asking = Asking(host, line.peer, "s", cancel=cancel, name_of=lambda name: name)
        asking.watch(ToolApprovalRequested("c", EVIL, "d", EVIL, f"rm {EVIL}", EVIL, f"bash({EVIL})"))
        (asked,) = await line.read(1)
        asking.watch(QuestionAsked("q", f"what {EVIL}", (f"yes {EVIL}", "no"), "model"))
        (put,) = await line.read(1)
        option = put["params"]["requestedSchema"]["properties"]["answer"]["enum"][0]
        answer = {"action": "accept", "content": {"answer": option}}
        line.write({"jsonrpc": "2.0", "id": put["id"], "result": answer})
        while not host.sent:
            await asyncio.sleep(0.01)
        asking.close()
    call_, options = asked["params"]["toolCall"], asked["params"]["options"]
    words = [call_["title"], *(part["content"]["text"] for part in call_["content"])]
    words += [choice["name"] for choice in options] + [put["params"]["message"], option]
    for text in words:
        assert all(char.isprintable() or char == "\n" for char in text)
    assert "rm a\\x1b]52;c;eA==\\x07b\\x9b2J\\x1b[2Jc\\x00\\u{202e}d\\x0d\nFORGED" in words[1]
    assert not any("\n" in text for text in (words[0], words[2], option))
    assert host.sent == [Answer("q", f"yes {EVIL}")]


async def test_what_the_program_tells_an_editor_of_names_drives_and_hides_nothing() -> None:
    async with connection() as line:
        teller = Teller(line.peer, "s", "/w")
        teller.say(EVIL)
        teller.note(EVIL)
        teller.event(ToolCalled(1, "c", "bash", json.dumps({"command": EVIL})))
        teller.event(ToolExecutionProgress("c", EVIL))
        teller.event(MessageDelta(turn=1, delta=EVIL))
        told = await line.read(5)
    updates = [one["params"]["update"] for one in told]
    content = [update.get("content") for update in updates]
    words = [content[0]["text"], content[1]["text"], updates[2]["title"], content[3][0]["content"]["text"]]
    for text in words:
        assert all(char.isprintable() or char == "\n" for char in text)
    assert content[4]["text"] == "ab2Jc\u202ed\nFORGED"  # the model's words, which say what they say
