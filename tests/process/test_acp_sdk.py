"""The official Python client drives `wisp acp` through a whole tour; its models accept every message, and
know every field of it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema
from acp.connection import StreamDirection, StreamEvent
from acp.meta import CLIENT_METHODS
from process.program import Program
from process.server import ServerThread

from wisp.testing.requests import Request
from wisp.testing.steps import Call, Step

pytestmark = [pytest.mark.process, pytest.mark.timeout(170)]

RESULTS = {
    "initialize": schema.InitializeResponse,
    "authenticate": schema.AuthenticateResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/fork": schema.ForkSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse,
    "session/delete": schema.DeleteSessionResponse,
    "session/prompt": schema.PromptResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
}
CALLS = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "elicitation/create": schema.CreateFormSessionElicitationRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
}


def same(model: Any, value: Any) -> None:
    """`value` is accepted, and comes back whole: no field of it is unknown to the protocol."""
    found = model.model_validate(value).model_dump(by_alias=True, exclude_unset=True, mode="json")
    assert found == value


class Wire:
    """Checks everything that crosses the pipe towards the client."""

    def __init__(self) -> None:
        self._asked: dict[Any, str] = {}
        self.kinds: set[str] = set()
        self.codes: set[int] = set()
        self.answered: list[Any] = []

    def __call__(self, event: StreamEvent) -> None:
        message = event.message
        if event.direction is StreamDirection.OUTGOING:
            if "method" in message and "id" in message:
                self._asked[message["id"]] = message["method"]
            return
        method = message.get("method")
        if method is not None:
            assert method in CLIENT_METHODS.values()
            same(CALLS[method], message["params"])
            self.kinds.add(message["params"].get("update", {}).get("sessionUpdate", method))
        elif "error" in message:
            same(schema.Error, message["error"])
            self.codes.add(message["error"]["code"])
            self.answered.append(message["id"])
        else:
            asked = self._asked[message["id"]]
            same(RESULTS[asked], message["result"])
            self.kinds.add(asked)
            self.answered.append(message["id"])


class Person:
    """What the client does when it is asked; counts."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.choice = "once"
        self.asked = 0

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
        self.asked += 1
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=self.choice)
        )

    async def create_elicitation(self, message: str, **_: Any) -> Any:
        self.asked += 1
        return schema.AcceptElicitationResponse(action="accept", content={"answer": "blue"})

    async def read_text_file(self, path: str, session_id: str, **_: Any) -> Any:
        return schema.ReadTextFileResponse(content="in the editor\n")

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    def on_connect(self, conn: Any) -> None:
        """Nothing to do."""


def model(request: Request) -> Step:
    """Does by the last words of the user what the tour needs."""
    body = request.body.decode()
    said = [
        word
        for word in ("TOUR-EDIT", "TOUR-RUN", "TOUR-ASK", "TOUR-LIST", "TOUR-SLOW", "TOUR-THINK", "TOUR-READ")
        if word in body
    ]
    last = max(said, key=body.rfind) if said else ""
    if last == "TOUR-SLOW":
        return Step(text="word " * 4000, pause=0.01)
    if last == "TOUR-THINK":
        return Step(thinking="Hm. " * 20, text="Thought.")
    if body.rfind('"tool"') > body.rfind(last):
        return Step(text=f"Done with {last.lower()}.")
    calls: dict[str, tuple[Call, ...]] = {
        "TOUR-EDIT": (Call("write", {"path": "b.py", "content": "one\ntwo\n"}), Call("nonsense", {})),
        "TOUR-READ": (Call("read", {"path": "b.py"}),),
        "TOUR-RUN": (Call("bash", {"command": "touch made; printf 'é\\n' && cat nothing-there"}),),
        "TOUR-ASK": (Call("ask_user", {"question": "Which?", "options": ["red", "blue"]}),),
        "TOUR-LIST": (
            Call("todo", {"items": [{"text": "a", "state": "done"}, {"text": "b", "state": "doing"}]}),
        ),
    }
    return Step(text="Now.", calls=calls.get(last, ()))


def test_the_official_client_accepts_every_message_of_a_tour(tmp_path: Path) -> None:
    """All methods, all kinds of updates, all requests of ours, and errors."""
    with ServerThread(model, lenient=True) as server:
        more = '[providers.local.models.second]\nefforts = ["low", "high"]\n'
        program = Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat"), more=more)
        wire, person = Wire(), Person()
        failures = asyncio.run(tour(program, wire, person))
    assert failures == []
    assert wire.kinds >= set(RESULTS) | set(CALLS) - {"session/update"}
    assert wire.kinds >= {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
    }
    assert wire.codes == {-32601, -32602, -32002, -32600}
    assert len(wire.answered) == len(set(wire.answered))
    assert person.asked >= 3


async def tour(program: Program, wire: Wire, person: Person) -> list[BaseException]:
    """Go everywhere; what the checks of the wire found."""
    failures: list[BaseException] = []

    def observer(event: StreamEvent) -> None:
        try:
            wire(event)
        except BaseException as exc:  # the connection would only log it
            failures.append(exc)

    options: dict[str, Any] = {"env": program.env, "cwd": program.project, "observers": [observer]}
    options["use_unstable_protocol"] = True
    async with acp.spawn_agent_process(person, sys.executable, "-m", "wisp", "acp", **options) as (
        agent,
        process,
    ):
        capable = schema.ClientCapabilities(
            elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities()),
            fs=schema.FileSystemCapabilities(read_text_file=True),
        )
        await agent.initialize(protocol_version=1, client_capabilities=capable)
        await agent.authenticate(method_id="wisp-login")
        made = await agent.new_session(cwd=str(program.project), mcp_servers=[])
        session = made.session_id

        async def say(text: str) -> Any:
            return await agent.prompt(session_id=session, prompt=[acp.text_block(text)])

        for text in (
            "TOUR-EDIT",
            "TOUR-READ",
            "TOUR-RUN",
            "TOUR-ASK",
            "TOUR-LIST",
            "TOUR-THINK",
            "/cost",
            "/name Tour",
        ):
            assert (await say(text)).stop_reason == "end_turn"
        assert "blue" in str(person.updates) and "in the editor" in str(person.updates)
        await agent.set_session_mode(session_id=session, mode_id="plan")
        await agent.set_config_option(session_id=session, config_id="model", value="local/second")
        await agent.set_config_option(session_id=session, config_id="effort", value="high")
        person.choice = "no"
        await agent.set_session_mode(session_id=session, mode_id="ask")
        assert (await say("TOUR-EDIT again")).stop_reason == "end_turn"
        slow = asyncio.ensure_future(say("TOUR-SLOW"))
        before = len(person.updates)
        while len(person.updates) < before + 2:
            await asyncio.sleep(0.01)
        for wrong in (
            say("x"),
            agent.set_session_mode(session_id=session, mode_id="no"),
            agent.ext_method("x", {}),
        ):
            with pytest.raises(acp.RequestError):
                await wrong
        await agent.cancel(session_id=session)
        assert (await slow).stop_reason == "cancelled"
        where: dict[str, Any] = {"session_id": session, "cwd": str(program.project), "mcp_servers": []}
        fork = (await agent.fork_session(**where)).session_id
        await agent.load_session(**where)
        await agent.resume_session(**where)
        assert {row.session_id for row in (await agent.list_sessions()).sessions} == {session, fork}
        await agent.close_session(session_id=fork)
        with pytest.raises(acp.RequestError):
            await agent.close_session(session_id=fork)
        await agent._conn.send_request(
            "session/delete", {"sessionId": fork}
        )  # the client has no method for it
    assert await process.wait() == 0
    return failures
