"""`wisp acp` as an editor sees it: the real program, the wire read by hand."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from process.editor import Editor
from process.program import Program
from process.server import ServerThread

from wisp._version import __version__
from wisp.testing.requests import Request
from wisp.testing.steps import Step

pytestmark = pytest.mark.process

SLOW = {"text": "word " * 4000, "pause": 0.01}
WRITE = [
    {
        "text": "I write it.",
        "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "x\ny\n"}}],
    },
    {"text": "Written."},
]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def world(tmp_path: Path, server: ServerThread, more: str = "") -> Program:
    return Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"), more=more)


def calls(editor: Editor) -> list[dict[str, Any]]:
    return [u for u in editor.updates() if u["sessionUpdate"] in ("tool_call", "tool_call_update")]


def test_a_prompt_is_answered_after_everything_that_was_told_of_it(tmp_path: Path) -> None:
    """Chunks, a call with its diff and its places, the permission, what is used; then the stop reason."""
    with ServerThread(WRITE) as server:
        editor = Editor(world(tmp_path, server))
        ready = editor.ask("initialize", protocolVersion=1)
        session = editor.open(tmp_path / "work")
        result = editor.say(session, "write it")
        told = len(editor.seen)
        code, errors = editor.leave()
    assert (ready["protocolVersion"], ready["agentInfo"]["name"]) == (1, "wisp")
    assert result["stopReason"] == "end_turn"
    assert result["usage"]["totalTokens"] == result["usage"]["inputTokens"] + result["usage"]["outputTokens"]
    assert editor.text() == "I write it.Written."
    file = str(tmp_path / "work" / "a.txt")
    first, last = calls(editor)[0], calls(editor)[-1]
    assert (first["sessionUpdate"], first["kind"], first["status"]) == ("tool_call", "edit", "pending")
    assert first["locations"] == [{"path": file}]
    assert first["rawInput"] == {"path": "a.txt", "content": "x\ny\n"}
    assert (last["status"], last["content"]) == (
        "completed",
        [{"type": "diff", "path": file, "newText": "x\ny\n"}],
    )
    asked = next(m for m in editor.seen if m.get("method") == "session/request_permission")["params"]
    assert asked["toolCall"]["toolCallId"] == first["toolCallId"] == last["toolCallId"]
    assert asked["toolCall"]["content"][0] == last["content"][0], "what was allowed is what was done"
    assert [option["kind"] for option in asked["options"]] == ["allow_once", "allow_always", "reject_once"]
    used = next(u for u in editor.updates() if u["sessionUpdate"] == "usage_update")
    assert used["size"] == 200000 and 0 < used["used"] < 200000
    assert (code, errors) == (0, "")
    assert told == len(editor.seen), "nothing follows the answer"


@pytest.mark.parametrize(
    "outcome",
    [
        {"outcome": {"outcome": "selected", "optionId": "no"}},
        {"outcome": {"outcome": "selected", "optionId": "something else"}},
        {"outcome": {"outcome": "selected"}},
        {"outcome": {"outcome": "granted"}},
        {},
        [],
        None,
    ],
)
def test_whatever_is_no_clear_yes_is_a_no(outcome: Any, tmp_path: Path) -> None:
    """Also an answer that makes no sense, or an error in its place."""
    with ServerThread(WRITE) as server:
        editor = Editor(world(tmp_path, server), answer=lambda _: outcome)
        session = editor.open(tmp_path / "work")
        number = editor.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        if outcome is None:
            asked = editor.until(lambda m: m.get("method") == "session/request_permission")
            editor.write({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "no"}})
        result = editor.reply(number)["result"]
        editor.leave()
    assert result["stopReason"] == "end_turn"
    assert calls(editor)[-1]["status"] == "failed"
    assert calls(editor)[-1]["rawOutput"]["code"] == "denied"
    assert not (tmp_path / "work" / "a.txt").exists()


def test_always_holds_for_the_session_and_for_no_other(tmp_path: Path) -> None:
    """The same file again is not asked about; in another session it is."""
    write = WRITE[0]
    steps = [
        write,
        {"text": "1"},
        {**write, "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "z"}}]},
    ]
    with ServerThread(
        [
            *steps,
            {"text": "2"},
            {"calls": [{"name": "read", "arguments": {"path": "a.txt"}}]},
            steps[2],
            {"text": "3"},
        ]
    ) as server:
        editor = Editor(
            world(tmp_path, server),
            answer=lambda _: {"outcome": {"outcome": "selected", "optionId": "always"}},
        )
        session = editor.open(tmp_path / "work")
        editor.say(session, "one")
        editor.say(session, "two")
        one = sum(m.get("method") == "session/request_permission" for m in editor.seen)
        (tmp_path / "work" / "a.txt").write_text("other")
        editor.say(editor.open(tmp_path / "work"), "three")
        both = sum(m.get("method") == "session/request_permission" for m in editor.seen)
        editor.leave()
    assert (one, both) == (1, 2)


@pytest.mark.parametrize("how", ["session/cancel", "$/cancel_request", "outcome"])
def test_a_cancelled_prompt_is_answered_and_nothing_is_done(how: str, tmp_path: Path) -> None:
    """While a permission waits; the next prompt of the session is answered as usual."""
    with ServerThread([WRITE[0], {"text": "next"}]) as server:
        editor = Editor(world(tmp_path, server), answer=lambda _: None)
        session = editor.open(tmp_path / "work")
        number = editor.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        asked = editor.until(lambda m: m.get("method") == "session/request_permission")
        if how == "outcome":
            editor.write(
                {"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}}
            )
        elif how == "session/cancel":
            editor.notify(how, sessionId=session)
        else:
            editor.notify(how, requestId=number)
        reply = editor.reply(number)
        after = editor.say(session, "and now?")
        editor.leave()
    if how == "$/cancel_request":
        assert reply["error"]["code"] == -32800
    else:
        assert reply["result"]["stopReason"] == "cancelled"
    assert after["stopReason"] == "end_turn" and editor.text().endswith("next")
    assert not (tmp_path / "work" / "a.txt").exists()


def test_a_second_prompt_is_refused_while_one_is_answered_and_other_sessions_go_on(tmp_path: Path) -> None:
    """Two folders, one process: each session has its own run and its own folder."""

    def script(request: Request) -> Step:
        slow = "be slow" in str(request.body)
        return Step(text=SLOW["text"], pause=0.01) if slow else Step(text="quick")

    with ServerThread(script) as server:
        program = world(tmp_path, server)
        (tmp_path / "other").mkdir()
        editor = Editor(program)
        one, two = editor.open(tmp_path / "work"), editor.open(tmp_path / "other")
        number = editor.send("session/prompt", sessionId=one, prompt=[{"type": "text", "text": "be slow"}])
        editor.until(lambda m: m.get("method") == "session/update" and "word" in str(m))
        code, message = editor.fault("session/prompt", sessionId=one, prompt=[{"type": "text", "text": "x"}])
        quick = editor.say(two, "hello")
        editor.notify("session/cancel", sessionId=one)
        slow = editor.reply(number)["result"]
        listed = editor.ask("session/list", cwd=str(tmp_path / "other"))["sessions"]
        editor.leave()
    assert code == -32600 and "being answered" in message
    assert quick["stopReason"] == "end_turn" and editor.text(session=two) == "quick"
    assert slow["stopReason"] == "cancelled"
    assert [row["sessionId"] for row in listed] == [two] and listed[0]["cwd"] == str(tmp_path / "other")


def test_a_session_goes_on_in_another_process(tmp_path: Path) -> None:
    """Loading tells all that was said, resuming tells nothing; the model knows all of it either way."""
    with ServerThread([*WRITE, {"text": "two"}, {"text": "three"}, {"text": "four"}]) as server:
        program = world(tmp_path, server)
        editor = Editor(program)
        session = editor.open(program.project)
        editor.say(session, "write it")
        live = editor
        editor.leave()
        loaded = Editor(program)
        where = {"cwd": str(program.project), "mcpServers": []}
        loaded.ask("session/load", sessionId=session, **where)
        replayed = list(loaded.updates())
        loaded.say(session, "second")
        loaded.leave()
        resumed = Editor(program)
        resumed.ask("session/resume", sessionId=session, **where)
        silent = [u for u in resumed.updates() if u["sessionUpdate"].endswith("chunk")]
        resumed.say(session, "third")
        fork = resumed.ask("session/fork", sessionId=session, **where)["sessionId"]
        resumed.say(fork, "fourth")
        resumed.leave()
        last = str(server.requests[-1].body)
    kinds = [
        u["sessionUpdate"] for u in replayed if "chunk" in u["sessionUpdate"] or "tool" in u["sessionUpdate"]
    ]
    assert kinds == [
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]
    said = [u["content"]["text"] for u in replayed if u["sessionUpdate"] == "agent_message_chunk"]
    assert "".join(said) == live.text()
    assert silent == [] and fork != session
    assert all(word in last for word in ("write it", "second", "third", "fourth"))


def test_sessions_are_listed_closed_and_deleted(tmp_path: Path) -> None:
    """What is deleted is not listed; deleting it again, or what never was, is no error."""
    with ServerThread(lambda _: Step(text="yes")) as server:
        program = world(tmp_path, server)
        editor = Editor(program)
        sessions = [editor.open(program.project) for _ in range(3)]
        for number, session in enumerate(sessions):
            editor.say(session, f"prompt {number}")
        before = editor.ask("session/list")
        assert editor.ask("session/close", sessionId=sessions[0]) == {}
        assert editor.fault("session/close", sessionId=sessions[0])[0] == -32002
        assert (
            editor.fault("session/prompt", sessionId=sessions[0], prompt=[{"type": "text", "text": "x"}])[0]
            == -32002
        )
        for session in (sessions[1], sessions[1], "never was", ""):
            assert editor.ask("session/delete", sessionId=session) == {}
        after = editor.ask("session/list", cwd=str(program.project))
        editor.leave()
    assert {row["title"] for row in before["sessions"]} == {"prompt 0", "prompt 1", "prompt 2"}
    assert {row["sessionId"] for row in after["sessions"]} == {sessions[0], sessions[2]}
    assert after["nextCursor"] is None


def test_a_long_list_comes_in_pages_that_hold_each_session_once(tmp_path: Path) -> None:
    """Following the cursor to its end."""
    with ServerThread(lambda _: Step(text="yes")) as server:
        program = world(tmp_path, server)
        editor = Editor(program)
        session = editor.open(program.project)
        editor.say(session, "the first")
        where = {"cwd": str(program.project), "mcpServers": []}
        made = {editor.ask("session/fork", sessionId=session, **where)["sessionId"] for _ in range(60)}
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            page = editor.ask("session/list", **({"cursor": cursor} if cursor else {}))
            found += [row["sessionId"] for row in page["sessions"]]
            cursor, pages = page["nextCursor"], pages + 1
        bad = editor.fault("session/list", cursor="no cursor")
        editor.leave()
    assert pages == 2 and len(found) == len(set(found)) and set(found) == {*made, session}
    assert bad[0] == -32602


def test_modes_and_options_are_set_and_told(tmp_path: Path) -> None:
    """A model that is set before the first prompt answers it, under the id that the client was told."""
    more = '[providers.local.models.second]\nefforts = ["low", "high"]\n'
    with ServerThread(lambda _: Step(text="yes"), lenient=True) as server:
        program = world(tmp_path, server, more)
        editor = Editor(program)
        made = editor.ask("session/new", cwd=str(program.project), mcpServers=[])
        session = made["sessionId"]

        def option(name: str, value: str) -> dict[str, Any]:
            rows = editor.ask("session/set_config_option", sessionId=session, configId=name, value=value)
            return {row["id"]: row["currentValue"] for row in rows["configOptions"]}

        assert option("model", "local/second")["model"] == "local/second"
        assert option("effort", "high") == {"mode": "ask", "model": "local/second", "effort": "high"}
        editor.say(session, "hello")
        body = json.loads(server.requests[-1].body)
        assert editor.ask("session/set_mode", sessionId=session, modeId="plan") == {}
        assert option("mode", "auto")["mode"] == "auto"
        assert option("effort", "default")["effort"] == "default"
        kept = {row["sessionId"] for row in editor.ask("session/list")["sessions"]}
        faults = [
            editor.fault("session/set_mode", sessionId=session, modeId="sudo")[0],
            editor.fault("session/set_config_option", sessionId=session, configId="model", value="x/y")[0],
            editor.fault("session/set_config_option", sessionId=session, configId="color", value="red")[0],
            editor.fault("session/set_mode", sessionId="other", modeId="plan")[0],
        ]
        editor.leave()
    assert made["modes"]["currentModeId"] == "ask"
    assert (body["model"], body["reasoning_effort"]) == ("second", "high")
    told = [u["currentModeId"] for u in editor.updates() if u["sessionUpdate"] == "current_mode_update"]
    assert told == ["plan", "auto"]
    assert kept == {session}
    assert faults == [-32602, -32602, -32602, -32002]


def test_the_mode_decides_without_asking(tmp_path: Path) -> None:
    """In read-only mode nothing is asked and nothing is written; in full mode nothing is asked."""
    with ServerThread([*WRITE, *WRITE]) as server:
        editor = Editor(world(tmp_path, server))
        session = editor.open(tmp_path / "work")
        editor.ask("session/set_mode", sessionId=session, modeId="read-only")
        editor.say(session, "go")
        refused = (tmp_path / "work" / "a.txt").exists()
        editor.ask("session/set_mode", sessionId=session, modeId="full")
        editor.say(session, "go")
        editor.leave()
    assert not refused and (tmp_path / "work" / "a.txt").read_text() == "x\ny\n"
    assert not any(m.get("method") == "session/request_permission" for m in editor.seen)


def test_slash_commands_are_done_here_and_skills_reach_the_model(tmp_path: Path) -> None:
    """What an editor does itself is refused with how; what is no command is said to the model."""
    with ServerThread(lambda _: Step(text="the model")) as server:
        editor = Editor(world(tmp_path, server))
        session = editor.open(tmp_path / "work")
        offered = editor.until(lambda m: "availableCommands" in str(m))["params"]["update"][
            "availableCommands"
        ]
        editor.say(session, "/permissions")
        assert "permission mode: ask" in editor.text() and not server.requests
        editor.say(session, "/quit")
        assert "close the session in the editor" in editor.text() and not server.requests
        editor.say(session, "/usr/bin is where?")
        assert "/usr/bin is where?" in str(server.requests[-1].body)
        editor.say(session, "/review the parser")
        assert "the parser" in str(server.requests[-1].body) and "/review the parser" not in str(
            json.loads(server.requests[-1].body)
        )
        editor.leave()
    names = {command["name"] for command in offered}
    assert {"compact", "model", "review"} <= names and not names & {"quit", "new", "resume", "fork"}


def test_resources_and_pictures_reach_the_model(tmp_path: Path) -> None:
    """A link as a link, text as text, a picture as a picture."""
    parts = [
        {"type": "text", "text": "Look at "},
        {"type": "resource_link", "uri": "file:///w/a.py", "name": "a.py"},
        {"type": "resource", "resource": {"uri": "file:///w/b.py", "text": "SECRET = 7"}},
        {"type": "image", "mimeType": "image/png", "data": PIXEL},
    ]
    with ServerThread(lambda _: Step(text="seen")) as server:
        editor = Editor(world(tmp_path, server, "images = true"))
        session = editor.open(tmp_path / "work")
        editor.ask("session/prompt", sessionId=session, prompt=parts)
        content = json.loads(server.requests[-1].body)["messages"][-1]["content"]
        big = base64.b64encode(b"0" * 5_000_001).decode()
        faults = [
            editor.fault("session/prompt", sessionId=session, prompt=prompt)[0]
            for prompt in (
                [],
                [{"type": "text", "text": "  "}],
                [{"type": "audio", "mimeType": "audio/wav", "data": PIXEL}],
                [{"type": "image", "mimeType": "image/svg+xml", "data": PIXEL}],
                [{"type": "image", "mimeType": "image/png", "data": "not base64!"}],
                [{"type": "image", "mimeType": "image/png", "data": big}],
                [{"type": "resource", "resource": {"uri": "file:///x", "blob": PIXEL}}],
                [{"type": "video"}],
            )
        ]
        editor.leave()
    assert "[a.py](file:///w/a.py)" in content[0]["text"] and "SECRET = 7" in content[0]["text"]
    assert PIXEL in content[1]["image_url"]["url"]
    assert set(faults) == {-32602} and len(server.requests) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_settles_what_runs_and_tells_by_the_exit_code(number: int, tmp_path: Path) -> None:
    """The prompt is answered with `cancelled`; the session can be gone on with."""
    with ServerThread([SLOW, {"text": "on"}]) as server:
        program = world(tmp_path, server)
        editor = Editor(program)
        session = editor.open(program.project)
        asked = editor.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        editor.until(lambda m: "word" in str(m))
        editor.process.send_signal(number)
        code, errors = editor.ended()
        again = Editor(program)
        again.ask("session/resume", sessionId=session, cwd=str(program.project))
        result = again.say(session, "on")
        again.leave()
    assert (code, errors) == (128 + number, "")
    answers = [m for m in editor.seen if m.get("id") == asked and "method" not in m]
    assert [m["result"]["stopReason"] for m in answers] == ["cancelled"]
    assert result["stopReason"] == "end_turn"


def test_the_end_of_the_input_settles_what_runs(tmp_path: Path) -> None:
    """Also while a command runs that would go on for long."""
    hanging = {"calls": [{"name": "bash", "arguments": {"command": "touch began; sleep 91"}}]}
    with ServerThread([hanging, {"text": "never"}]) as server:
        program = world(tmp_path, server)
        editor = Editor(program, "--permission-mode", "full", "--sandbox", "off")
        session = editor.open(program.project)
        asked = editor.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        editor.until(lambda m: "in_progress" in str(m))
        code, errors = editor.leave()
    assert (code, errors) == (0, "")
    answers = [m for m in editor.seen if m.get("id") == asked and "method" not in m]
    assert [m["result"]["stopReason"] for m in answers] == ["cancelled"]


@pytest.mark.parametrize("form", ["file", "devnull"])
def test_input_from_a_file_and_output_to_a_file_are_served_too(form: str, tmp_path: Path) -> None:
    """No pipe anywhere: every line of the file is answered, then it ends."""
    program = Program(tmp_path / "home", tmp_path / "work")
    given = tmp_path / "in.jsonl"
    given.write_text(
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n{"jsonrpc":"2.0","id":2,"method":"nope"}'
    )
    with open("/dev/null" if form == "devnull" else given) as reading, open(tmp_path / "out", "w") as writing:
        process = program.start("acp", stdin=reading, stdout=writing)
        _, errors = process.communicate(timeout=60)
    lines = (tmp_path / "out").read_text().splitlines()
    assert (process.returncode, errors, len(lines)) == (0, "", 0 if form == "devnull" else 2)


def test_a_client_that_reads_no_more_ends_it_quietly(tmp_path: Path) -> None:
    """As with any program whose reader leaves; its input is still open then."""
    program = Program(tmp_path / "home", tmp_path / "work")
    reading, writing = os.pipe()
    process = program.start("acp", stdin=subprocess.PIPE, stdout=writing)
    os.close(writing)
    os.close(reading)
    assert process.stdin is not None and process.stderr is not None
    process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n')
    process.stdin.flush()
    code = process.wait(timeout=60)
    errors = process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert (code, errors) == (141, "")


@pytest.mark.parametrize(
    ("settings", "code", "word"),
    [("", -32000, "model"), ("permission_mode = 3", -32000, "permission_mode")],
)
def test_what_cannot_be_opened_says_why(settings: str, code: int, word: str, tmp_path: Path) -> None:
    """Without a model, a session asks for a login, and `authenticate` says how."""
    program = Program(tmp_path / "home", tmp_path / "work", api="")
    (program.home / "config" / "settings.toml").write_text(settings)
    del program.env["LOCAL_KEY"]
    editor = Editor(program)
    ready = editor.ask("initialize", protocolVersion=1, clientCapabilities={"auth": {"terminal": True}})
    found = editor.fault("session/new", cwd=str(program.project), mcpServers=[])
    login = editor.fault("authenticate", methodId=ready["authMethods"][0]["id"])
    other = editor.fault("authenticate", methodId="telepathy")
    assert editor.leave()[0] == 0
    assert found[0] == code and word in found[1]
    assert ready["authMethods"][0]["type"] == "terminal" and ready["authMethods"][0]["args"] == ["login"]
    assert login[0] == -32000 and "wisp login" in login[1]
    assert other[0] == -32602


def test_there_is_a_limit_to_how_many_sessions_are_open(tmp_path: Path) -> None:
    """It is said, and closing one makes room."""
    program = Program(tmp_path / "home", tmp_path / "work")
    editor = Editor(program)
    sessions = [editor.open(program.project) for _ in range(200)]
    code, message = editor.fault("session/new", cwd=str(program.project), mcpServers=[])
    editor.ask("session/close", sessionId=sessions[0])
    editor.open(program.project)
    assert editor.leave()[0] == 0
    assert code == -32600 and "close one first" in message


def test_the_registry_entry_starts_an_agent_that_can_be_logged_in_to(tmp_path: Path) -> None:
    """By the registry's rules: an id, three numbers as a version, a licence, and how it is started."""
    folder = Path(__file__).parents[2] / "packaging" / "acp-registry"
    (file,) = folder.glob("*/agent.json")
    entry = json.loads(file.read_text())
    assert entry["id"] == file.parent.name and re.fullmatch("[a-z][a-z0-9-]*", entry["id"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"]) and __version__.startswith(entry["version"])
    assert entry["name"] and entry["description"] and entry["license_url"].startswith("https://")
    started = entry["distribution"]["uvx"]
    assert started["package"] == f"wisp-agent=={entry['version']}"
    (command,) = started["args"]
    program = Program(tmp_path / "home", tmp_path / "work")
    process = program.start(command, stdin=subprocess.PIPE)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    out, _ = process.communicate(json.dumps(hello) + "\n", timeout=60)
    assert json.loads(out)["result"]["authMethods"]


@pytest.mark.parametrize(
    ("step", "options", "reason"),
    [
        ({"text": "half of it", "stop": "length"}, [], "max_tokens"),
        ({"text": "no", "stop": "content_filter"}, [], "refusal"),
        ({"calls": [{"name": "ls", "arguments": {}}]}, ["--max-turns", "1"], "max_turn_requests"),
        ({"calls": [{"name": "ls", "arguments": {}}]}, ["--max-tokens", "50"], "max_tokens"),
    ],
)
def test_the_stop_reason_says_why_a_run_ended(
    step: dict[str, Any], options: list[str], reason: str, tmp_path: Path
) -> None:
    """In the protocol's words."""
    with ServerThread([step, {"text": "never"}]) as server:
        editor = Editor(world(tmp_path, server), *options)
        result = editor.say(editor.open(tmp_path / "work"), "go")
        editor.leave()
    assert result["stopReason"] == reason


@pytest.mark.parametrize(("status", "code"), [(401, -32000), (400, -32603)])
def test_a_provider_that_fails_is_an_error_with_its_reason_and_the_session_goes_on(
    status: int, code: int, tmp_path: Path
) -> None:
    """A credential that is refused asks for a login."""
    with ServerThread(
        [{"text": "never", "fault": {"status": status, "times": 1}}, {"text": "now"}]
    ) as server:
        editor = Editor(world(tmp_path, server))
        session = editor.open(tmp_path / "work")
        found = editor.fault("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        after = editor.say(session, "again")
        editor.leave()
    assert found[0] == code and str(status) in found[1]
    assert after["stopReason"] == "end_turn"


def test_a_client_that_does_not_read_cannot_keep_it_alive(tmp_path: Path) -> None:
    """With its output full, a signal still ends it in time."""
    with ServerThread([{"text": "x" * 400_000, "delta": 4000}]) as server:
        program = world(tmp_path, server)
        process = program.start("acp", stdin=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        new = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": str(program.project)}}
        process.stdin.write(json.dumps(new) + "\n")
        process.stdin.flush()
        session = json.loads(process.stdout.readline())["result"]["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
        asked = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt}
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        while not server.requests:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=100)
        errors = process.stderr.read()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
    assert (code, errors) == (143, "")


def test_standard_error_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    """More remarks than a pipe takes; requests are answered all the same."""
    editor = Editor(Program(tmp_path / "home", tmp_path / "work"))
    for number in range(5000):
        editor.write({"jsonrpc": "2.0", "id": number, "result": "nobody asked"})
    assert editor.ask("initialize", protocolVersion=1)["protocolVersion"] == 1
    code, errors = editor.leave()
    assert code == 0 and "was not asked" in errors


def test_mcp_servers_of_the_editor_are_used_in_that_session_alone(tmp_path: Path) -> None:
    """Their tools are offered and called; what cannot be used is refused."""
    server_file = str(Path(__file__).parents[1] / "mcp_client" / "server.py")
    given = {"name": "x", "command": sys.executable, "args": ["-S", server_file], "env": []}
    call = {"text": "x", "calls": [{"name": "mcp__x__echo", "arguments": {"message": "hi"}}]}
    with ServerThread([call, {"text": "done"}, {"text": "none here"}]) as server:
        editor = Editor(world(tmp_path, server), "--permission-mode", "full", "--sandbox", "off")
        where = {"cwd": str(tmp_path / "work")}
        session = editor.ask("session/new", **where, mcpServers=[given])["sessionId"]
        editor.say(session, "go")
        editor.say(editor.open(tmp_path / "work"), "and here?")
        offered = [str(json.loads(request.body)["tools"]) for request in server.requests]
        answer = str(json.loads(server.requests[1].body)["messages"][-1]["content"])
        faults = [
            editor.fault("session/new", **where, mcpServers=[wrong])[0]
            for wrong in (
                {"name": "s", "type": "sse", "url": "http://127.0.0.1:9/", "headers": []},
                {"name": "s"},
                {"command": "x", "args": [], "env": []},
            )
        ]
        editor.leave()
    assert "mcp__x__echo" in offered[0] and "mcp__x__echo" not in offered[2]
    assert answer == "Echo: hi"
    assert faults == [-32602] * 3
