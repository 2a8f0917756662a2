"""One task for another agent: a run of its own, told in the words of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from wisp.host.client import CommandRefused, HostClient, OpenFailed, OpenRequest
from wisp.host.commands import Cancel, Prompt
from wisp.host.events import AgentCompleted, Event, ToolExecutionEnded, ToolExecutionStarted
from wisp.host.showing import one_line
from wisp.host.view import RunView, View, reduce

Opener = Callable[[OpenRequest], Awaitable[HostClient]]
Tell = Callable[[str], None]
"""Takes a line about what is going on."""


class TaskArguments(msgspec.Struct, frozen=True):
    """What the tool takes."""

    prompt: str
    session_id: str = ""


RESULT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": ["string", "null"]},
        "session_id": {"type": "string", "description": "Give it with the next task to go on"},
        "stop_reason": {"type": "string"},
        "error": {"type": ["string", "null"]},
        "turns": {"type": "integer"},
        "input_tokens": {"type": ["integer", "null"]},
        "output_tokens": {"type": ["integer", "null"]},
        "cost_usd": {"type": ["number", "null"]},
        "denied": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"tool": {"type": "string"}, "reason": {"type": "string"}},
                "required": ["tool", "reason"],
            },
        },
    },
    "required": ["answer", "session_id", "stop_reason", "turns", "denied"],
}
"""JSON Schema of `structuredContent`."""


def tool(request: OpenRequest, cwd: str, mode: str) -> dict[str, Any]:
    """How the tool is described; the policy is part of it, so that who calls knows what it gets."""
    reads = mode in ("read-only", "plan")
    keeps = not request.no_session
    described = (
        f"Has Wisp, a coding agent, do a task in {cwd} and answers with its report. It sees nothing of this "
        f"conversation: say everything it needs to know. Its permission mode is {mode}; nobody can be asked, "
        "so what would be asked is refused and told in `denied`."
        + (" Give the `session_id` of an earlier answer to go on with that task." if keeps else "")
    )
    arguments: dict[str, Any] = {"prompt": {"type": "string", "description": "The whole task"}}
    if keeps:
        arguments["session_id"] = {"type": "string", "description": "Of an earlier answer of this server"}
    return {
        "name": "task",
        "title": "A task for Wisp",
        "description": described,
        "inputSchema": {
            "type": "object",
            "properties": arguments,
            "required": ["prompt"],
            "additionalProperties": False,
        },
        "outputSchema": RESULT,
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": not reads,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    }


async def do(request: OpenRequest, opener: Opener, prompt: str, tell: Tell) -> dict[str, Any]:
    """Run `prompt` to its end in a conversation of its own; the result of `tools/call`.

    Cancelled, it stops the run, lets it settle, and goes.
    """
    try:
        client = await opener(request)
    except OpenFailed as exc:
        return _failed(str(exc))
    try:
        return await _run(client, prompt, tell)
    finally:
        await client.close()


async def _run(client: HostClient, prompt: str, tell: Tell) -> dict[str, Any]:
    view, over = View(), False
    async with aclosing(client.events()) as events:
        try:
            await client.send(Prompt(prompt))
        except CommandRefused as exc:
            return _failed(str(exc))
        try:
            async for envelope in events:
                reduce(view, envelope)
                if said := _going_on(envelope.event):
                    tell(said)
                over = isinstance(envelope.event, AgentCompleted)
                if over:
                    break
        finally:
            if not over:
                await client.send(Cancel("the caller cancelled"))
    return _result(client.snapshot().session_id, view.run)


def _going_on(event: Event) -> str:
    if isinstance(event, ToolExecutionStarted):
        return one_line(f"running {event.name}")
    if isinstance(event, ToolExecutionEnded):
        mark = "failed: " if event.is_error else ""
        return one_line(f"{mark}{event.summary or event.name}")
    return ""


def _result(session_id: str, run: RunView) -> dict[str, Any]:
    refused = bool(run.denials) and not run.effects
    structured = {
        "answer": run.answer,
        "session_id": session_id,
        "stop_reason": "refused" if refused and run.stop_reason == "model_finished" else str(run.stop_reason),
        "error": run.error or None,
        "turns": run.turns,
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
        "cost_usd": run.cost_usd,
        "denied": [{"tool": denial.tool, "reason": denial.message} for denial in run.denials],
    }
    wrong = run.stop_reason != "model_finished" or refused
    words = run.answer or run.error or "It ended without an answer."
    if wrong and run.answer:
        words += f"\n\n(The run ended otherwise than it should: {structured['stop_reason']}. {run.error})"
    return {"content": [{"type": "text", "text": words}], "structuredContent": structured, "isError": wrong}


def _failed(why: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": why}], "isError": True}
