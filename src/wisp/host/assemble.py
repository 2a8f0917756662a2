"""Parts joined to a host, always in the same way, whatever the parts are.

Owns what a conversation has about it besides model, tools and storage, and the order in which session,
harness and host take hold of each other.  Which parts they are is decided in `host/build.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from wisp._version import __version__
from wisp.context.blocks import Block, render
from wisp.harness.budget import Ledger
from wisp.harness.gate import Gate
from wisp.harness.ports import CallHooks, FixedInstructions, Questioner
from wisp.harness.runner import AgentHarness
from wisp.harness.toolbox import Toolbox
from wisp.host.client import OpenFailed
from wisp.host.external import External, offerable
from wisp.host.news import HostNews
from wisp.host.questions import PendingApprovals, PendingQuestions
from wisp.host.service import Attach, SessionHost
from wisp.host.settings import Settings
from wisp.host.skills import Skills
from wisp.host.snapshot import InstructionFile, Snapshot
from wisp.host.spending import ledger_of, run_limits
from wisp.loop.boundary import Boundary
from wisp.messages.ids import Clock
from wisp.messages.message import Message
from wisp.messages.usage import Price
from wisp.providers.base import ModelInfo, Provider
from wisp.session.ports import FileHistory
from wisp.session.runner import CodingSession
from wisp.session.storage import Storage, StorageFailed
from wisp.tools.base import Tool

if TYPE_CHECKING:
    from wisp.host.hooking import Hooking
    from wisp.mcp.servers import ServerTool


class Around(msgspec.Struct, frozen=True):
    """What a conversation has about it besides model, tools and storage; the default is nothing."""

    questions: PendingQuestions | None = None
    questioner: Questioner | None = None
    boundary: Boundary | None = None
    day_file: str = ""
    skills: Skills = Skills(())
    news: HostNews | None = None
    values: Mapping[str, str] = {}
    """What templates of commands may name."""
    files: FileHistory | None = None
    prices: Mapping[tuple[str, str], Price] = {}
    """Of other models that may answer."""
    save_plan: Callable[[str], str] | None = None
    hooks: CallHooks | None = None
    attach: Attach | None = None
    """Reads the files of a prompt."""
    external: External | None = None
    """The MCP servers."""
    hooking: Hooking | None = None
    """The hooks apart from those around calls."""
    ledger: Ledger | None = None
    """Instead of the session's own."""
    branch: str = ""
    """The branch that is checked out."""


def assemble_host(
    *,
    provider: Provider,
    model: ModelInfo,
    tools: Sequence[Tool],
    external_tools: Sequence[ServerTool] = (),
    gate: Gate,
    approvals: PendingApprovals | None,
    around: Around | None = None,
    storage: Storage,
    session_id: str,
    resumed: bool,
    cwd: str,
    blocks: Sequence[Block],
    settings: Settings,
    clock: Clock,
    sandbox: str = "none",
    notes: tuple[str, ...] = (),
    on_close: Callable[[], Awaitable[None]] | None = None,
) -> SessionHost:
    """Put the parts together; whatever they are, they are joined the same way.

    Args:
        external_tools: those of servers that are there already; others may take their place later.

    Raises:
        OpenFailed: the stored session cannot be continued.
    """
    around = around or Around()
    observe = around.news.touched if around.news is not None else None

    def offer(found: Sequence[ServerTool]) -> list[Tool]:
        return [*tools, *offerable(found, settings, model.context_window)]

    toolbox = Toolbox(offer(external_tools), gate, observe, around.questioner, around.hooks)
    if around.news is not None:
        around.news.offer = lambda found: toolbox.offer(offer(found))
    session = _session(storage, clock, cwd, session_id, model, around)
    ledger = around.ledger or ledger_of(settings, session.state, around.day_file, clock)

    def make(history: Sequence[Message]) -> AgentHarness:
        return AgentHarness(
            provider,
            model,
            toolbox,
            clock,
            instructions=FixedInstructions(*render(tuple(blocks))),
            recorder=session,
            history=history,
            effort=settings.effort,
            session_id=session.id,
            fitter=session.window,
            news=around.news,
            ledger=ledger,
            questioner=around.questioner,
            boundary=around.boundary,
        )

    session.attach(make)
    snapshot = _snapshot(
        session,
        provider,
        model,
        toolbox,
        settings,
        blocks,
        around,
        notes,
        resumed=resumed,
        cwd=cwd,
        box=sandbox,
    )
    return SessionHost(
        session,
        snapshot,
        clock,
        approvals=approvals,
        questions=around.questions,
        limits=run_limits(settings),
        max_time=settings.max_time,
        blocks=blocks,
        save_plan=around.save_plan,
        skills=around.skills,
        values=around.values,
        attach=around.attach,
        on_close=on_close,
        external=around.external,
        hooking=around.hooking,
    )


def _snapshot(
    session: CodingSession,
    provider: Provider,
    model: ModelInfo,
    toolbox: Toolbox,
    settings: Settings,
    blocks: Sequence[Block],
    around: Around,
    notes: tuple[str, ...],
    *,
    resumed: bool,
    cwd: str,
    box: str,
) -> Snapshot:
    """What a front end is told at first."""
    return Snapshot(
        session_id=session.id,
        session_path=session.where,
        resumed=resumed,
        provider=provider.name,
        model=model.id,
        tools=tuple(tool.name for tool in toolbox.specs()),
        cwd=cwd,
        permission_mode=toolbox.gate.policy.mode,
        sandbox=box,
        instructions=tuple(InstructionFile(b.source, b.size) for b in blocks if b.name != "environment"),
        notes=notes,
        messages=session.state.count,
        output_format=settings.output_format,
        effort=settings.effort,
        branch=around.branch,
        skills=tuple(skill.name for skill in around.skills.all()),
    )


def _session(
    storage: Storage, clock: Clock, cwd: str, session_id: str, model: ModelInfo, around: Around
) -> CodingSession:
    try:
        return CodingSession(
            storage,
            clock,
            cwd=cwd,
            session_id=session_id,
            price=model.price,
            prices=around.prices,
            created_by=f"wisp {__version__}",
            files=around.files,
        )
    except StorageFailed as exc:
        raise OpenFailed(str(exc), 1) from None
