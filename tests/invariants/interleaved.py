"""One conversation in memory whose model, tools and person are driven by a seed, and what must hold of it.

Six workflows: a stream, sequential tools, parallel tools, waiting messages, a replaced history, a rebased one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import msgspec
from agent_world import FakeTool, check_events, gate, kind, lawful

from wisp.harness.mailbox import QueueChanged
from wisp.harness.ports import ApprovalAnswer
from wisp.harness.runner import AgentHarness
from wisp.harness.toolbox import Toolbox
from wisp.loop.boundary import At, Decision, Rebase
from wisp.messages.content import Text, ToolCall
from wisp.messages.ids import FixedClock
from wisp.messages.laws import violations
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, UserMessage, user
from wisp.messages.usage import Usage
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.events import Finished, Retrying, Started, TextDelta, Withdrawn
from wisp.session.runner import CodingSession
from wisp.session.storage import MemoryStorage

WORKFLOWS = ("stream", "sequential", "parallel", "queues", "replacement", "rebase")
ACTIONS = ("steer", "follow_up", "cancel", "approve", "compact", "take_back", "edit", "one", "all")
MODEL = ModelInfo("m", context_window=3_000)
CALLS = {"sequential": ("seq", "seq"), "parallel": ("par", "par", "par"), "queues": ("par",)}


class Model:
    """Answers by workflow: two requests with calls, then words; summaries in words. Sometimes cut and tried again."""

    name, api = "seeded", "scripted"

    def __init__(self, workflow: str, source: random.Random) -> None:
        self._workflow, self._source = workflow, source
        self.requests: list[ModelRequest] = []
        self.left = 2

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        if request.tools:
            self.requests.append(request)
            assert violations(request.messages) == []
        yield Started()
        if self._source.random() < 0.1:
            yield TextDelta(0, "cut ")
            await asyncio.sleep(0)
            yield Withdrawn("cut")
            yield Retrying(1, 3, 0.0, "overload")
            yield Started()
        for _ in range(2):
            yield TextDelta(0, "word ")
            await asyncio.sleep(0)
        names = CALLS.get(self._workflow, ("seq",) if self._workflow in ("replacement", "rebase") else ())
        calls: tuple[ToolCall, ...] = ()
        if request.tools and self.left > 0:
            self.left -= 1
            number = len(self.requests)
            calls = tuple(
                ToolCall(f"c{number}.{n}", name, f'{{"x": "{number}.{n}"}}') for n, name in enumerate(names)
            )
        usage = Usage(50, 5, 0, 0, 0)
        long = "word " * (400 if request.tools else 2)
        yield Finished(
            AssistantMessage((Text(long), *calls), stop="tool_calls" if calls else "stop", usage=usage)
        )


class Boundary:
    """Replaces, or rebases, at the first boundary of a run; a base that is gone must be refused."""

    def __init__(self, workflow: str) -> None:
        self._workflow = workflow
        self._extra = 0

    async def decide(self, at: At) -> Decision:
        await asyncio.sleep(0)
        if self._workflow == "replacement" and at.turn == 1:
            kept = [m for m in at.messages if not isinstance(m, ToolResult | AssistantMessage)]
            return Decision(messages=tuple(kept), extra=() if at.would_stop else (self._said(),))
        if self._workflow == "rebase" and at.turn <= 2:
            until = "gone" if at.turn == 2 else at.messages[0].id
            return Decision(rebase=Rebase(until, (user("the base"),)))
        return Decision()

    def _said(self) -> UserMessage:
        self._extra += 1
        return UserMessage((Text(f"extra {self._extra}"),), f"x{self._extra}")


class Person:
    """Answers approvals when told to; an unanswered one waits."""

    def __init__(self) -> None:
        self.waiting: asyncio.Future[bool] | None = None

    async def ask(self, request: Any) -> ApprovalAnswer:
        self.waiting = asyncio.get_running_loop().create_future()
        try:
            return ApprovalAnswer(request.digest, await self.waiting)
        finally:
            self.waiting = None

    def answer(self, yes: bool) -> None:
        if self.waiting is not None and not self.waiting.done():
            self.waiting.set_result(yes)


class Talk:
    """One conversation under the checks."""

    def __init__(self, workflow: str, seed: int) -> None:
        self.workflow = workflow
        self.source = random.Random(seed)
        clock = FixedClock()
        self.model = Model(workflow, self.source)
        self.person = Person()
        self.session = CodingSession(MemoryStorage(), clock, cwd="/w", session_id="S1")
        tools = [
            FakeTool("seq", effect="write", work=_nap),
            FakeTool("par", parallel=True, replay="safe", work=_nap),
        ]
        self.tools = tools
        toolbox = Toolbox(tools, gate("ask", self.person))

        def make(history: Any) -> AgentHarness:
            return AgentHarness(
                self.model,
                MODEL,
                toolbox,
                clock,
                recorder=self.session,
                history=history,
                fitter=self.session.window,
                boundary=Boundary(workflow),
            )

        self.agent = self.session.attach(make)
        self.accepted: dict[str, list[str]] = {"steer": [], "follow_up": []}
        """Ids of what was taken, in order."""
        self.removed: set[str] = set()
        self.injected: dict[str, list[str]] = {"steer": [], "follow_up": []}
        self.count = 0

    def act(self, action: str) -> None:
        """Do one thing that a person may do at any moment."""
        queues = self.agent.queues
        self.count += 1
        if action == "steer":
            self.agent.steer(f"steer {self.count}")
            self.accepted["steer"].append(queues.state().steering[-1].id)
        elif action == "follow_up":
            self.agent.follow_up(f"later {self.count}")
            self.accepted["follow_up"].append(queues.state().follow_up[-1].id)
        elif action == "cancel":
            self.agent.abort("the person")
        elif action == "approve":
            self.person.answer(True)
        elif action == "compact":
            self.session.window.ask_for("")
        elif action == "take_back":
            taken = queues.take_back()
            self.removed |= {taken.id} if taken else set()
        elif action == "edit":
            waiting = [*queues.state().steering, *queues.state().follow_up]
            with suppress(QueueChanged):
                queues.edit(waiting[0].id if waiting else "none", f"edited {self.count}")
        else:
            for queue in ("steering", "follow_up"):
                queues.set_mode(queue, "all" if action == "all" else "one_at_a_time")  # type: ignore[arg-type]

    async def run(self, text: str, at_event: Any) -> None:
        """One run; `at_event` is called with the place of each event and may act."""
        events: list[Any] = []
        self.model.left = 2
        async for event in self.session.prompt(user(text)):
            events.append(event)
            if kind(event) == "QueueMessageInjected" and event.kind in self.injected:
                self.injected[event.kind].append(event.message.id)
            at_event(len(events) - 1, event)
            if kind(event) == "ToolApprovalRequested":
                self.person.answer(self.source.random() < 0.8)
        check_events(events)
        ends = [kind(e) for e in events]
        assert ends.count("AgentCompleted") == 1
        assert ends.count("TurnStarted") == ends.count("TurnCompleted")
        assert all(tool.running == 0 for tool in self.tools)

    async def finish(self) -> None:
        """Go on until nothing waits, then look at the whole."""
        for number in range(60):
            waiting = self.agent.queues.state()
            if number and not waiting.steering and not waiting.follow_up:
                break
            await self.run(f"go on {number}", lambda place, event: None)
        self._check()

    def _check(self) -> None:
        kept: list[Message] = list(self.session.state.messages)
        lawful(kept)
        lawful(self.agent.messages)
        ids = [m.id for m in kept if isinstance(m, UserMessage)]
        assert len(set(ids)) == len(ids), "a message stands twice"
        for name, accepted in self.accepted.items():
            expected = [one for one in accepted if one not in self.removed]
            assert self.injected[name] == expected, "lost, doubled or out of order"
            assert [one for one in ids if one in set(accepted)] == expected
        calls = [c.id for m in kept if isinstance(m, AssistantMessage) for c in m.calls]
        results = [m.call_id for m in kept if isinstance(m, ToolResult)]
        assert results == calls
        context = [m for m in self.session.state.context if not isinstance(m, Notice)]
        assert [_bare(m) for m in self.agent.messages if not isinstance(m, Notice)] == [
            _bare(m) for m in context
        ]


def _bare(message: Message) -> Message:
    return msgspec.structs.replace(message, usage=None) if isinstance(message, AssistantMessage) else message


async def _nap(arguments: dict[str, Any], context: Any) -> None:
    await asyncio.sleep(0)


async def random_talk(seed: int) -> None:
    """One conversation in which anything may happen at any event."""
    source = random.Random(seed)
    talk = Talk(source.choice(WORKFLOWS), seed)
    often = source.choice((0.05, 0.2, 0.5))

    def at_event(place: int, event: Any) -> None:
        while source.random() < often:
            talk.act(source.choice(ACTIONS))

    for number in range(source.randint(1, 3)):
        await talk.run(f"prompt {number}", at_event)
    await talk.finish()
