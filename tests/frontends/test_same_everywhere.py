"""Two hundred runs, each told as text, as JSON, as a stream, over RPC and over ACP: all of them tell the same.

What the stream says is folded by a second implementation here, in plain dictionaries.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from random_model import RandomModel

import wisp
from wisp.frontends.acp.session import _stop_reason
from wisp.frontends.acp.updates import Teller
from wisp.frontends.cli.exitcodes import verdict
from wisp.frontends.cli.print import JsonOutput, StreamOutput, TextOutput
from wisp.frontends.rpc.events import EventWriter
from wisp.frontends.wire.peer import Outgoing
from wisp.harness.events import ToolApprovalRequested
from wisp.harness.ports import ApprovalAnswer
from wisp.host.build import Overrides, open_host
from wisp.host.client import OpenRequest
from wisp.host.commands import Cancel, Compact, Prompt
from wisp.host.events import ANY_EVENT, AgentCompleted, Envelope
from wisp.host.service import SessionHost
from wisp.host.view import RunView, View, reduce
from wisp.messages.content import Image, Text
from wisp.messages.ids import seconds_of
from wisp.messages.tool import ToolOutcome

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LOGS, BATCH = 200, 20


class Sometimes:
    """A person who says yes or no by chance."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        await asyncio.sleep(0)
        return ApprovalAnswer(request.digest, self._chance.random() < 0.5, reason="not now")


@wisp.tool(effect="read")
def picture(number: int) -> ToolOutcome:
    """A picture."""
    return ToolOutcome((Text(f"picture {number}"), Image("image/png", PIXEL)))


class Log(NamedTuple):
    """Everything that was told of the last run of a conversation, and the host after it."""

    host: SessionHost
    events: list[Envelope]
    headless: bool
    compacted: bool


async def generated(seed: int, folder: Path) -> Log:
    """A conversation of one to three runs; the last one is the log."""
    chance = random.Random(seed)
    (folder / "here.txt").write_text("words\n" * 20)
    headless = chance.random() < 0.5
    own = Overrides(RandomModel(seed), None if headless else Sometimes(chance), tools=(picture,))
    options = {"permission_mode": chance.choice(["ask", "read-only", "full"]), "sandbox": "off"}
    if chance.random() < 0.2:
        options["max_turns"] = chance.randint(1, 2)  # type: ignore[assignment]
    host = await open_host(OpenRequest(options, cwd=str(folder), no_session=True), own)
    compacts = chance.random() < 0.4
    runs = 3 if compacts else chance.choice([1, 1, 2])
    events: list[Envelope] = []
    for number in range(runs):
        last = number == runs - 1
        if last and compacts:
            await host.send(Compact(""))
        stop_at = chance.randint(1, 60) if last and chance.random() < 0.25 else 0
        events = []
        async with aclosing(host.events()) as told:
            await host.send(Prompt("go " * chance.randint(1, 400)))
            async for envelope in told:
                events.append(envelope)
                if len(events) == stop_at:
                    await host.send(Cancel())
                if isinstance(envelope.event, AgentCompleted):
                    break
    return Log(host, events, headless, compacts)


def fold(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """What a reader of `stream-json` who never saw our code would make of the lines."""
    texts, answering = list[str](), False
    found: dict[str, Any] = {"result": None, "messages": [], "calls": {}, "denials": [], "tokens": [0, 0]}
    for line in lines:
        kind = line["type"]
        if kind in ("message.started", "message.withdrawn"):
            texts, answering = [], True
        elif kind == "message.delta" and line["content_kind"] == "text":
            texts.append(line["delta"])
        elif kind == "message.completed":
            answering = False
            found["result"] = "".join(texts)
            found["messages"].append("".join(texts))
        elif kind == "tool.execution.ended":
            found["calls"][line["call_id"], line["turn"]] = line["is_error"]
            if line.get("failure_code") == "denied":
                found["denials"].append(line["call_id"])
        elif kind == "turn.started":
            found["turns"] = line["turn"]
        elif kind == "agent.completed":
            found["stop"] = line["stop_reason"]
        elif kind == "turn.completed" and answering:  # nobody was told what the answer came to
            answering, found["tokens"] = False, [None, None]
        if kind == "message.completed":
            spend(found["tokens"], line["message"].get("usage") or {})
        elif line.get("usage") is not None:
            spend(found["tokens"], line["usage"])
    return found


def spend(tokens: list[int | None], usage: dict[str, Any]) -> None:
    """Add figures; with one that is not known the sum is not either."""
    for place, name in enumerate(("input_tokens", "output_tokens")):
        more, before = usage.get(name), tokens[place]
        tokens[place] = None if more is None or before is None else before + more


class Heard:
    """An ACP client that reads at its own pace."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.sent: list[Outgoing] = []

    def notify(self, method: str, params: Any) -> Outgoing:
        assert method == "session/update"
        self.sent.append(Outgoing({"params": params}))
        for one in self.sent[: self._chance.randint(0, len(self.sent))]:
            one.taken = True
        return self.sent[-1]

    def updates(self) -> list[dict[str, Any]]:
        return [json.loads(msgspec.json.encode(one.message["params"]["update"])) for one in self.sent]


def as_acp(log: Log, chance: random.Random) -> dict[str, Any]:
    """Messages and calls as a client of ACP sees them."""
    heard = Heard(chance)
    teller = Teller(heard, "s", log.host.snapshot().cwd)  # type: ignore[arg-type]
    finish = ""
    for envelope in log.events:
        teller.event(envelope.event)
        finish = getattr(envelope.event, "finish_reason", finish)
    messages: dict[str, str] = {}
    status: dict[str, str] = {}
    pictures = 0
    for update in heard.updates():
        kind = update["sessionUpdate"]
        if kind == "agent_message_chunk":
            name = update["messageId"]
            messages[name] = messages.get(name, "") + update["content"]["text"]
            latest = name
        elif kind == "agent_thought_chunk" and "does not count" in update["content"]["text"]:
            messages.pop(latest if messages else "", None)
        elif kind in ("tool_call", "tool_call_update"):
            status[update["toolCallId"]] = update.get("status") or status.get(update["toolCallId"], "")
            contents = update.get("content") or []
            pictures += any(part.get("content", {}).get("type") == "image" for part in contents)
    end = log.events[-1].event
    assert isinstance(end, AgentCompleted)
    return {"messages": messages, "status": status, "pictures": pictures, "stop": _stop_reason(end, finish)}


def as_rpc(log: Log, chance: random.Random) -> View:
    """The view of a client that was sent frames; a timer fires at any moment."""
    frames: list[bytes] = []
    due: list[Any] = []
    writer = EventWriter(frames.append, lambda _seconds, call: due.append(call))
    for envelope in log.events:
        writer.event(envelope)
        if due and chance.random() < 0.2:
            due.pop()()
    writer.flush()
    view, deltas = View(), ""
    for frame in frames:
        data = json.loads(frame)["params"]
        event = msgspec.convert(data, ANY_EVENT)
        reduce(view, Envelope(data["seq"], data["session_id"], seconds_of(data["at"]), event))
        deltas += data["delta"] if data["type"] == "message.delta" else ""
    told = [envelope.event for envelope in log.events]
    assert deltas == "".join(getattr(event, "delta", "") for event in told)
    return view


def timeless(run: RunView) -> dict[str, Any]:
    """A run without the moments in it, which a wire rounds to milliseconds."""
    return {
        key: value
        for key, value in msgspec.to_builtins(run).items()
        if key not in ("started_at", "ended_at", "provider_seconds")
    }


def printed(output: Any, log: Log, run: RunView) -> tuple[str, str]:
    """`(stdout, stderr)` of one of the command line's outputs."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        output.begin(log.host)
        for envelope in log.events:
            output.event(envelope)
        output.end(log.host, run, verdict(run, headless=log.headless))
    return out.getvalue(), err.getvalue()


def check(log: Log, seed: int) -> None:
    """All five tell the same of one log."""
    chance = random.Random(seed + 1)
    view = View()
    for envelope in log.events:
        reduce(view, envelope)
    run = view.run
    judged = verdict(run, headless=log.headless)
    stdout, _ = printed(StreamOutput(), log, run)
    lines = [json.loads(line) for line in stdout.splitlines()]
    init, *events, streamed = lines
    single = json.loads(printed(JsonOutput(), log, run)[0])
    text, said = printed(TextOutput(), log, run)
    found = fold(events)
    ended = [line for line in events if line["type"] == "tool.execution.ended"]

    # the result object, once and at the end of the stream, against the reader's own fold
    assert streamed == single
    assert init["subtype"] == "init"
    assert all(line["session_id"] == single["session_id"] for line in events)
    assert [line["seq"] for line in events] == list(range(events[0]["seq"], events[0]["seq"] + len(events)))
    assert single["result"] == found["result"]
    assert single["num_turns"] == found.get("turns", 0)
    assert [denial["call_id"] for denial in single["permission_denials"]] == found["denials"]
    assert [single["usage"]["input_tokens"], single["usage"]["output_tokens"]] == found["tokens"]
    assert (single["exit_code"] == 0) is (not single["is_error"]) is (single["subtype"] == "success")
    if single["subtype"] == "success":
        assert (single["stop_reason"], found["stop"]) == ("model_finished", "model_finished")
    assert single["subtype"] == judged.subtype

    # text: the answer alone on stdout; a line for each call, retry and withdrawal on stderr
    answer = found["result"] or ""
    assert text == (answer if not answer or answer.endswith("\n") else answer + "\n")
    marks = [line[:2] for line in said.splitlines() if line[:2] in ("- ", "x ")]
    assert marks == ["x " if line["is_error"] else "- " for line in ended]
    counted = {
        kind: sum(line["type"] == kind for line in events)
        for kind in ("provider.retrying", "message.withdrawn")
    }
    assert said.count("trying again in") == counted["provider.retrying"]
    assert said.count("and does not count") == counted["message.withdrawn"]
    assert ("wisp: " in said) is single["is_error"]

    # RPC: a client that folds merged frames sees the host's own view
    over_rpc = as_rpc(log, chance)
    assert timeless(over_rpc.run) == timeless(run) == timeless(log.host.view.run)
    assert (over_rpc.phase, over_rpc.pending, over_rpc.question) == ("idle", None, None)

    # ACP: the same words, the same fate of each call, a fitting reason
    acp = as_acp(log, chance)
    whole = [message for message in found["messages"] if message]
    shown = [message for message in acp["messages"].values() if message]
    assert shown[: len(whole)] == whole
    assert len(shown) - len(whole) <= (found["stop"] in ("cancelled", "provider_failure", "error"))
    failed = sorted(line["is_error"] for line in ended)
    assert (
        sorted(state == "failed" for state in acp["status"].values() if state in ("failed", "completed"))
        == failed
    )
    images = sum(
        any(block["type"] == "image" for block in line["result"]["content"])
        for line in events
        if line["type"] == "tool.result"
    )
    assert acp["pictures"] == images
    assert acp["stop"] == {"cancelled": "cancelled", "turn_limit": "max_turn_requests"}.get(
        found["stop"], "end_turn"
    )


SEEN: dict[str, int] = {}


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(LOGS // BATCH))
async def test_every_front_end_tells_the_same_of_a_run(
    batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retries, withdrawals, denials, pictures, compactions, limits, failures and cancels, by chance."""
    monkeypatch.setenv("WISP_HOME", str(tmp_path / "home"))
    kinds: set[str] = set()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        folder = tmp_path / str(seed)
        folder.mkdir()
        log = await generated(seed, folder)
        try:
            check(log, seed)
        except AssertionError as exc:
            exc.add_note(f"seed {seed}")
            raise
        finally:
            await log.host.close()
        kinds |= {type(envelope.event).__name__ for envelope in log.events}
        kinds |= {str(log.host.view.run.stop_reason)} | ({"denied"} if log.host.view.run.denials else set())
    assert kinds >= {
        "ProviderRetrying",
        "MessageWithdrawn",
        "CompactionCompleted",
        "ToolExecutionEnded",
        "cancelled",
        "denied",
        "model_finished",
    }
