"""A whole conversation over HTTP: the harness, one real provider of any dialect, the strict test server."""

from collections.abc import Sequence

from agent_world import FakeTool, gate

from wisp.harness.ports import Recorder
from wisp.harness.runner import AgentHarness
from wisp.harness.toolbox import Toolbox
from wisp.messages.ids import FixedClock
from wisp.messages.message import Message, user
from wisp.providers.base import ModelInfo, Provider
from wisp.testing.asking import MODEL

OPEN: list[tuple[Provider, AgentHarness]] = []
"""Conversations of the running test; closed by its folder's fixture."""


class Blocks:
    """Instructions that can be changed between requests."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def blocks(self) -> tuple[str, ...]:
        return self.texts


def box(*names: str) -> Toolbox:
    return Toolbox([FakeTool(name) for name in names or ("look",)], gate())


def conversation(
    provider: Provider,
    *,
    model: ModelInfo = MODEL,
    toolbox: Toolbox | None = None,
    history: Sequence[Message] = (),
    instructions: Blocks | None = None,
    recorder: Recorder | None = None,
) -> AgentHarness:
    harness = AgentHarness(
        provider,
        model,
        toolbox or box(),
        FixedClock(),
        instructions=instructions or Blocks("You are a test.", "Environment."),
        history=history,
        recorder=recorder,
        session_id="s1",
    )
    OPEN.append((provider, harness))
    return harness


async def close_all() -> None:
    while OPEN:
        provider, harness = OPEN.pop()
        harness.toolbox.close()
        close = getattr(provider, "aclose", None)
        if close is not None:
            await close()


async def said(harness: AgentHarness, text: str) -> list:
    """Every event of one prompt."""
    return [event async for event in harness.prompt(user(text))]
