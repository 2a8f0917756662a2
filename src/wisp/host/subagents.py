"""Subagents: a part of the work in a conversation of its own, below the one that asked for it.

A subagent never has more rights than its parent has at that moment, spends from the parent's budget, and
whatever ends it, what it found out until then reaches the parent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Literal

import msgspec

from wisp.context.blocks import Block, block
from wisp.harness.events import ToolApprovalRequested, ToolApprovalResolved
from wisp.harness.ports import ApprovalAnswer, Approver
from wisp.host.agents import DESCRIPTION_MOST, TOLD_MOST, WRITING, Agent
from wisp.host.assemble import Around, assemble_host
from wisp.host.commands import Prompt
from wisp.host.events import (
    AgentCompleted,
    CompactionCompleted,
    Envelope,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    SubagentReported,
    ToolCalled,
    ToolExecutionStarted,
)
from wisp.host.external import is_of
from wisp.host.service import SessionHost
from wisp.host.settings import Settings
from wisp.loop.limits import Limits
from wisp.loop.settle import uncancelled
from wisp.messages.codec import NotAnObject, strict_object
from wisp.messages.content import Text
from wisp.messages.ids import Clock
from wisp.messages.tool import ToolFailure, ToolOutcome
from wisp.messages.usage import ZERO, Usage
from wisp.policy.decide import Policy
from wisp.providers.base import ModelInfo, Provider
from wisp.session.records import spent_beside
from wisp.session.storage import MemoryStorage
from wisp.tools.base import RunContext, Tool
from wisp.tools.task import Helper, TaskTool

if TYPE_CHECKING:
    from wisp.host.hooking import Below, Hooking

State = Literal["begun", "working", "ended"]

DEEPEST = 2
"""How far below the person's own conversation subagents may have subagents."""
REPORT_MOST = 30_000
"""Characters of a report."""
ROLE = (
    "You are a subagent: another agent gave you a part of its work. Nobody can answer questions. Your last "
    "message is your report, and all that the other agent will see of your work; make it complete and short."
)


class Kit(msgspec.Struct, frozen=True):
    """What a subagent works with."""

    tools: Sequence[Tool]
    close: Callable[[], None]
    cwd: str
    """Where they work."""
    finish: Callable[[], str] | None = None
    """Blocking; keeps what was changed elsewhere and says where, empty for nothing."""


class Model(msgspec.Struct, frozen=True):
    """Who answers a subagent."""

    provider: Provider
    info: ModelInfo
    close: Callable[[], Coroutine[None, None, None]]


class Parts(msgspec.Struct, frozen=True):
    """What the conversations of subagents are made of."""

    agents: tuple[Agent, ...]
    settings: Settings
    clock: Clock
    blocks: Callable[[], Sequence[Block]]
    kit: Callable[[Agent], Kit]
    """Makes tools of its own for one subagent; blocking.  Raises `ToolFailure`."""
    model: Callable[[str], Awaitable[Model]]
    """Finds a model by its name; empty for the conversation's own.  Raises `ToolFailure`."""
    hooking: Hooking | None
    approver: Approver | None


class Subagents:
    """Runs the subagents of one conversation; implements the `task` tool's `Helpers`.

    Args:
        parts: what they are made of.
        depth: how many conversations are above this one.
    """

    def __init__(self, parts: Parts, depth: int = 0) -> None:
        self._parts = parts
        self._depth = depth
        self._asking = asyncio.Lock()
        self.parent: SessionHost | None = None
        """The conversation they belong to; set before the first task."""

    def kinds(self) -> tuple[Helper, ...]:
        """See `Helpers.kinds`."""
        return tuple(Helper(a.name, a.description[:DESCRIPTION_MOST]) for a in self._parts.agents[:TOLD_MOST])

    async def run(self, name: str, label: str, prompt: str, context: RunContext) -> ToolOutcome:
        """See `Helpers.run`."""
        agent = next(one for one in self._parts.agents if one.name == name)
        model = await self._parts.model(agent.model)
        kit = await asyncio.to_thread(self._parts.kit, agent)
        work = _Work(self, agent, label or name, context)
        try:
            hooking = self._parts.hooking
            below = await hooking.below(context.call_id, name) if hooking is not None else None
            child = self._child(agent, model, kit, work, below)
            try:
                told = f"{prompt}\n\n{below.context}" if below is not None and below.context else prompt
                outcome = await work.follow(child, told)
            finally:
                await uncancelled(child.close())
                note = await uncancelled(_finished(kit))
                if note:
                    work.told(note)
            return msgspec.structs.replace(outcome, content=(*outcome.content, *_more(note)))
        finally:
            await uncancelled(asyncio.to_thread(kit.close))
            await uncancelled(model.close())

    def _child(self, agent: Agent, model: Model, kit: Kit, work: _Work, hooks: Below | None) -> SessionHost:
        parts, parent = self._parts, self._parent()
        approver = work if parts.approver is not None else None
        gate = parent.harness.toolbox.gate.below(_rights(agent, kit.cwd), approver)
        tools = _chosen(agent, kit.tools)
        below: Subagents | None = None
        if self._depth + 1 < DEEPEST and (agent.tools is None or "task" in agent.tools):
            below = Subagents(msgspec.structs.replace(parts, approver=approver), self._depth + 1)
            tools = [*tools, TaskTool(below)]
        settings = msgspec.structs.replace(
            parts.settings,
            max_turns=agent.max_turns,
            max_cost=agent.max_cost,
            max_tokens=None,
            max_time=None,
            effort=parts.settings.effort if not agent.model else "",
        )
        child = assemble_host(
            provider=model.provider,
            model=model.info,
            tools=tools,
            gate=gate,
            approvals=None,
            around=Around(
                hooks=hooks.calls if hooks is not None else None,
                boundary=hooks.boundary if hooks is not None else None,
                ledger=parent.harness.share("of the subagent", Limits()),
            ),
            storage=MemoryStorage(),
            session_id=parts.clock.new_id(),
            resumed=False,
            cwd=kit.cwd,
            blocks=[
                *parts.blocks(),
                block("subagent", ROLE, "built-in"),
                block("agent", agent.prompt, agent.source),
            ],
            settings=settings,
            clock=parts.clock,
        )
        if below is not None:
            below.parent = child
        return child

    def _parent(self) -> SessionHost:
        if self.parent is None:
            raise ToolFailure("unavailable", "subagents can be started only from a conversation")
        return self.parent

    # -- what goes up -------------------------------------------------------------------------------------

    async def report(self, event: SubagentReported) -> None:
        """Tell the conversation above, whose spending it is too."""
        parent = self._parent()
        parent.tell(event)
        if event.usage is not None:
            record = spent_beside(event.agent, event.usage, event.cost_usd, 1)
            await parent.session.audit(record.kind, record.facts)

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        """Have a person asked: one at a time, told where they look."""
        approver = self._parts.approver
        assert approver is not None
        if self._depth:
            return await approver.ask(request)
        parent = self._parent()
        async with self._asking:
            parent.tell(request)
            try:
                answer = await approver.ask(request)
            except BaseException:
                parent.tell(ToolApprovalResolved(request.call_id, request.name, False, "cancelled"))
                raise
            parent.tell(
                ToolApprovalResolved(request.call_id, request.name, answer.approved, "person", answer.reason)
            )
            return answer


class _Work:
    """One task: follows its conversation, and is who its calls are asked of."""

    def __init__(self, helpers: Subagents, agent: Agent, label: str, context: RunContext) -> None:
        self._helpers = helpers
        self._agent = agent
        self._label = label
        self._context = context
        self._said: list[str] = []
        self._piece: list[str] = []
        self._usage = ZERO
        self._cost: float | None = 0.0
        self._turns = 0
        self._calls = 0
        self._names: dict[str, str] = {}
        """Calls that did not begin yet, as they are told."""

    async def ask(self, request: ToolApprovalRequested) -> ApprovalAnswer:
        """See `Approver.ask`; the call is named so that it cannot be taken for one of the conversation's."""
        return await self._helpers.ask(
            msgspec.structs.replace(
                request,
                call_id=f"{self._context.call_id}/{request.call_id}",
                summary=f"[{self._agent.name}: {self._label}] {request.summary}",
            )
        )

    def told(self, note: str) -> None:
        """Show a person what is kept, also where no report will follow."""
        self._context.progress(f"[{self._agent.name}] {note}\n")

    async def follow(self, child: SessionHost, prompt: str) -> ToolOutcome:
        """Start it, tell how it goes, and make a report of how it ended."""
        async with aclosing(child.events()) as events:
            await self._tell("begun")
            await child.send(Prompt(prompt))
            async for envelope in events:
                if isinstance(envelope.event, AgentCompleted):
                    break
                await self._watch(envelope)
        run = child.view.run
        why = "" if run.stop_reason == "model_finished" else (run.error or str(run.stop_reason))
        await self._tell("ended", why)
        return self._outcome(run.answer or "", why)

    async def _watch(self, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, MessageStarted):
            self._piece = []
        elif isinstance(event, MessageDelta) and event.content_kind == "text":
            self._piece.append(event.delta)
        elif isinstance(event, MessageCompleted):
            self._piece = []
            self._turns += 1
            if event.message.text.strip():
                self._said.append(event.message.text)
            await self._tell("working", "", event.message.usage or Usage(), event.cost_usd)
        elif isinstance(event, CompactionCompleted) and event.usage is not None:
            await self._tell("working", "", event.usage, event.cost_usd)
        elif isinstance(event, ToolCalled):
            self._names[event.call_id] = f"{event.name} {_short(event.arguments)}".rstrip()
        elif isinstance(event, ToolExecutionStarted):
            self._calls += 1
            line = self._names.pop(event.call_id, event.name)
            self._context.progress(f"[{self._agent.name}] {line}\n")
            await self._tell("working", line)
        elif isinstance(event, SubagentReported):
            self._spent(event.usage, event.cost_usd)
            inner = f"{self._context.call_id}/{event.call_id}"
            await self._helpers.report(msgspec.structs.replace(event, call_id=inner))

    async def _tell(
        self, state: State, text: str = "", usage: Usage | None = None, cost: float | None = 0.0
    ) -> None:
        self._spent(usage, cost)
        event = SubagentReported(
            self._context.call_id, self._agent.name, self._label, state, self._turns, text, usage, cost
        )
        await self._helpers.report(event)

    def _spent(self, usage: Usage | None, cost: float | None) -> None:
        if usage is not None:
            self._usage = self._usage.plus(usage)
            self._cost = None if cost is None or self._cost is None else self._cost + cost

    def _outcome(self, answer: str, why: str) -> ToolOutcome:
        cut = "".join(self._piece).strip()
        if why:
            parts = [*self._said, *([cut + " [cut here]"] if cut else [])]
            said = "\n\n".join(parts)[-REPORT_MOST:]
            text = f"error (subagent_stopped): {why}. It made {self._calls} calls. " + (
                f"What it had said until then:\n\n{said}" if said else "It had said nothing until then."
            )
        else:
            text = answer.strip()[:REPORT_MOST] or "(the subagent ended without a word)"
        details = {
            "agent": self._agent.name,
            "turns": self._turns,
            "calls": self._calls,
            "usage": msgspec.to_builtins(self._usage),
            "cost_usd": self._cost,
        }
        return ToolOutcome((Text(text),), bool(why), "subagent_stopped" if why else "", details)


def _short(arguments: str) -> str:
    """The first argument that is text, in a few words."""
    try:
        values = list(strict_object(arguments).values())
    except NotAnObject:
        return ""
    words = next((value for value in values if isinstance(value, str)), "")
    return " ".join(words.split())[:80]


async def _finished(kit: Kit) -> str:
    """Where what the subagent changed is kept."""
    return await asyncio.to_thread(kit.finish) if kit.finish is not None else ""


def _more(note: str) -> tuple[Text, ...]:
    return (Text(f"\n\n{note}"),) if note else ()


def _rights(agent: Agent, cwd: str) -> Callable[[Policy], Policy]:
    """The parent's policy of the moment, in the folder where the subagent works; without effects for one
    that only reads."""

    def made(policy: Policy) -> Policy:
        mode = policy.mode if agent.acts else "read-only"
        return msgspec.structs.replace(policy, mode=mode, root=cwd)

    return made


def _chosen(agent: Agent, tools: Sequence[Tool]) -> list[Tool]:
    names = agent.tools
    if names is None:
        return [tool for tool in tools if tool.spec.name not in {*WRITING, "process"}]
    return [tool for tool in tools if any(is_of(tool.spec.name, name) for name in names)]
