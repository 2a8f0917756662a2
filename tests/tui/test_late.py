"""What a person says while a run ends, and nobody at the screen knows yet that it has ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from wisp.frontends.tui.app import WispApp
from wisp.host.build import Overrides, open_host
from wisp.host.client import OpenRequest
from wisp.host.commands import AnyCommand, Steer
from wisp.host.conversation import Conversation
from wisp.host.events import AgentCompleted, Envelope
from wisp.providers.scripted import ScriptedProvider


class SlowWire:
    """A connection on which the end of the first run is told after a message is under way to it."""

    def __init__(self, inner: Conversation) -> None:
        self._inner = inner
        self._first = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def events(self) -> AsyncGenerator[Envelope, None]:
        async with aclosing(self._inner.events()) as told:
            async for envelope in told:
                if isinstance(envelope.event, AgentCompleted) and self._first:
                    self._first = False
                    late: AnyCommand = Steer("and then this")
                    await self._inner.send(late)
                yield envelope


@pytest.mark.parametrize("times", range(3))
async def test_it_begins_the_next_run(times: int, tmp_path: Path) -> None:
    """It is neither lost nor left waiting for another message."""
    del times
    provider = ScriptedProvider(["The first answer.", "The second answer."])
    request = OpenRequest({"permission_mode": "ask", "sandbox": "off"}, cwd=str(tmp_path), no_session=True)

    async def connect() -> Any:
        host = await open_host(request, Overrides(provider))
        return SlowWire(Conversation(request, host, open_host))

    app = WispApp(connect, "first")
    async with app.run_test() as pilot:
        for _ in range(400):
            await pilot.pause(0.05)
            said = [entry.plain() for entry in app.transcript.entries]
            if "The second answer." in said and not app.working:
                break
        await app.close()

    assert said[-4:] == ["first", "The first answer.", "and then this", "The second answer."]
    assert app.talk is not None
    assert app.talk.feed.queue == ()
