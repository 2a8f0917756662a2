"""Thousands of messages, valid, bent and broken: every request is answered once, and none ends the agent."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from process.editor import Editor
from process.program import Program
from process.server import ServerThread

from wisp.testing.steps import Step

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.timeout(3000 if os.environ.get("WISP_SOAK") else 600),
]

SOAK = bool(os.environ.get("WISP_SOAK"))
MESSAGES = 20_000 if SOAK else 3_000
CHUNK = 100

ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**30,
    1e308,
    0.5,
    "",
    " ",
    "x" * 10_000,
    "\0",
    "\ud800",
    "é漢😀",
    "/",
    "../../etc",
    "/nonexistent/folder",
    [],
    {},
    [[]],
    {"a": {"b": {"c": []}}},
    [None],
    "end_turn",
    {"type": "text"},
    {"type": "image", "mimeType": "image/png", "data": "!"},
]
BROKEN = [
    b"{",
    b"}",
    b"nonsense",
    b'{"jsonrpc":"2.0"',
    b'{"jsonrpc":"2.0","id":1,"method":"x","params":\xff\xfe}',
    b'"text"',
    b"17",
    b"null",
    b"[]",
    b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]',
    b"[" * 100_000,
    b'{"params":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    b'{"jsonrpc":"1.0","id":"old","method":"initialize"}',
    b'{"jsonrpc":"2.0","id":{},"method":"initialize"}',
    b'{"jsonrpc":"2.0","id":true,"method":"initialize"}',
    b'{"jsonrpc":"2.0","id":null}',
    b'{"jsonrpc":"2.0","method":5}',
    b'{"jsonrpc":"2.0","id":"\\q","method":"initialize"}',
    b"{}",
]


def bent(value: Any, chance: random.Random) -> Any:
    """`value` with something in it that is otherwise."""
    how = chance.random()
    if isinstance(value, dict) and value and how < 0.8:
        name = chance.choice(list(value))
        if how < 0.15:
            return {key: item for key, item in value.items() if key != name}
        if how < 0.25:
            return {**value, chance.choice(["_meta", "extra", "", name.upper()]): chance.choice(ODD)}
        return {**value, name: bent(value[name], chance)}
    if isinstance(value, list) and value and how < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], bent(value[place], chance), *value[place + 1 :], *value[:1] * (how < 0.2)]
    return chance.choice(ODD)


class Fuzz:
    """Makes messages and knows what each is owed."""

    def __init__(self, chance: random.Random, project: str) -> None:
        self._chance = chance
        self._project = project
        self.sessions: list[str] = []
        self._last = 1_000_000

    def line(self) -> tuple[bytes, Any]:
        """`(a line, the id of its answer)`; `...` for none, None for an answer without an id or one of its own."""
        kind = self._chance.random()
        if kind < 0.1:
            return self._chance.choice(BROKEN), None
        message = {"jsonrpc": "2.0", **self._message()}
        if kind < 0.2:
            message.pop("id", None)  # a notification is never answered
            return json.dumps(message).encode(), ...
        if kind < 0.25:
            answer = {
                "jsonrpc": "2.0",
                "id": self._chance.choice([0, 1, 10**30, "x"]),
                "result": self._chance.choice(ODD),
            }
            return json.dumps(answer).encode(), ...
        if kind < 0.3:
            whole = json.dumps(message).encode()
            return whole[: self._chance.randrange(1, len(whole) - 1)], None
        return json.dumps(message).encode(), message["id"]

    def _message(self) -> dict[str, Any]:
        chance = self._chance
        session = chance.choice([*self.sessions[-6:], "gone"])
        where = {"cwd": self._project, "mcpServers": []}
        said = chance.choice(["hello", "/cost", "/quit", "/nope", "/permissions x", "//"])
        method, params = chance.choice(
            [
                ("initialize", {"protocolVersion": chance.choice([0, 1, 2, 99]), "clientCapabilities": {"auth": {"terminal": True}}}),
                ("authenticate", {"methodId": "wisp-login"}),
                ("session/new", {**where, "additionalDirectories": ["/tmp"]}),
                ("session/load", {**where, "sessionId": session}),
                ("session/resume", {**where, "sessionId": session}),
                ("session/fork", {**where, "sessionId": session}),
                ("session/list", {"cwd": self._project, "cursor": "0"}),
                ("session/close", {"sessionId": session}),
                ("session/delete", {"sessionId": session}),
                ("session/cancel", {"sessionId": session}),
                ("$/cancel_request", {"requestId": self._last - 1}),
                ("session/set_mode", {"sessionId": session, "modeId": chance.choice(["ask", "plan", "auto"])}),
                ("session/set_config_option", {"sessionId": session, "configId": "mode", "value": "ask"}),
                *[("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": said}]})] * 4,
            ]
        )  # fmt: skip
        if chance.random() < 0.5:
            params = bent(params, chance)
        if chance.random() < 0.05:
            method = chance.choice(["", "session/", "x" * 5000, "_mine", "fs/read_text_file", "\ud800"])
        self._last += 1
        number: Any = self._last if chance.random() < 0.8 else f'id "{self._last}" é\n'
        return {"id": number, "method": method, "params": params}


@pytest.mark.parametrize("seed", range(3) if SOAK else [None])
def test_every_request_is_answered_once_and_the_agent_lives(seed: int | None, tmp_path: Path) -> None:
    """Whatever comes between."""
    seed = random.randrange(1 << 30) if seed is None else seed
    with ServerThread(lambda _: Step(text="yes"), lenient=True) as server:
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"))
        editor = Editor(program)
        fuzz = Fuzz(random.Random(seed), str(program.project))
        fuzz.sessions += [editor.open(program.project) for _ in range(3)]
        for _ in range(MESSAGES // CHUNK):
            run_chunk(editor, fuzz, f"seed {seed}")
            for session in fuzz.sessions[:-30]:  # there is a limit to how many are open
                editor.reply(editor.send("session/close", sessionId=session))
            del fuzz.sessions[:-30]
            if len(fuzz.sessions) < 3:
                fuzz.sessions.append(editor.open(program.project))
        alive = editor.say(editor.open(program.project), "still there?")
        code, errors = editor.leave()
    assert alive["stopReason"] == "end_turn", f"seed {seed}"
    assert code == 0 and "Traceback" not in errors, f"seed {seed}: {errors[-2000:]}"


def run_chunk(editor: Editor, fuzz: Fuzz, told: str) -> None:
    """Send many at once; wait until as many answers came as are owed, and compare their ids."""
    lines = [fuzz.line() for _ in range(CHUNK)]
    editor.seen.clear()
    stream = editor.process.stdin
    assert stream is not None
    stream.buffer.write(b"".join(line + b"\n" for line, _ in lines))  # type: ignore[attr-defined]
    stream.flush()
    owed = Counter(repr(name) for _, name in lines if name is not ... and name is not None)
    nameless = sum(name is None for _, name in lines)
    answers: list[Any] = []
    while len(answers) < sum(owed.values()) + nameless:
        message = editor.next()
        assert "method" not in message or message["method"] == "session/update", told
        if "method" not in message:
            answers.append(message)
    for message in answers:
        assert ("result" in message) != ("error" in message), told
        found = message.get("result") or {}
        if isinstance(found, dict) and "sessionId" in found:
            fuzz.sessions.append(found["sessionId"])
    named = Counter(repr(message["id"]) for message in answers)
    assert not owed - named, f"{told}: not answered: {owed - named}"
    assert sum((named - owed).values()) == nameless, told
    marker = editor.send("session/list")
    left = editor.reply(marker)
    assert "result" in left, told
    extra = [
        m for m in editor.seen[editor.seen.index(answers[-1]) + 1 :] if "method" not in m and m is not left
    ]
    assert extra == [], f"{told}: answered twice: {extra[:3]}"
