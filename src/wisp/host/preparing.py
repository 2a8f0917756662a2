"""What becomes of a prompt before it is said: whether a hook lets it through, and commands written out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from wisp.context.templates import Shell
from wisp.harness.toolbox import Toolbox
from wisp.host.expanding import Expansion
from wisp.loop.ports import Emit
from wisp.messages.codec import ascii_json
from wisp.messages.content import ToolCall
from wisp.messages.ids import Clock

if TYPE_CHECKING:
    from wisp.host.hooking import Hooking

Audit = Callable[[str, dict[str, Any]], Awaitable[None]]


async def blocked(hooking: Hooking | None, text: str) -> str:
    """Why hooks do not let a prompt through; empty where they do, or there are none."""
    if hooking is None:
        return ""
    from wisp.host.hooking import Blocked

    try:
        await hooking.admit(text)
    except Blocked as exc:
        return str(exc)
    return ""


async def filled(meant: Expansion, toolbox: Toolbox, audit: Audit, clock: Clock, emit: Emit) -> str:
    """A command's text with the output of its lines of shell: each judged, and asked about, as a call."""
    outputs: dict[int, str] = {}
    for place, part in enumerate(meant.parts):
        if isinstance(part, Shell):
            call = ToolCall(clock.new_id(), "bash", ascii_json({"command": part.command}).decode())
            await audit("command_shell", {"command": part.command, "of": meant.skill.name})
            ready = await toolbox.prepare(call, emit)
            outcome = ready.failure or await ready.run(emit)
            outputs[place] = outcome.text
    return meant.text(outputs)
