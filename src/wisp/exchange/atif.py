"""A conversation as a trajectory: ATIF 1.8, the Agent Trajectory Interchange Format of the Harbor framework.

One step a message; what a call led to stands in the step that made the call.
"""

from __future__ import annotations

import json
from typing import Any

from wisp.exchange.transcript import Said, Transcript, arguments_of
from wisp.messages.codec import ascii_json
from wisp.messages.content import Image, Text, Thinking
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage
from wisp.messages.usage import Usage

VERSION = "ATIF-v1.8"


def atif(transcript: Transcript) -> bytes:
    """The conversation as one JSON object.  Images are named and not carried along."""
    steps: list[dict[str, Any]] = []
    for place, one in enumerate(transcript.said):
        if isinstance(one.message, ToolResult):
            continue
        times = {"timestamp": one.at} if one.at else {}
        steps.append({"step_id": len(steps) + 1, **times, **_step(one, _after(transcript.said, place))})
    usage = transcript.usage
    whole = {
        "schema_version": VERSION,
        "session_id": transcript.session_id,
        "trajectory_id": transcript.session_id,
        "agent": {
            "name": "wisp",
            "version": transcript.version,
            **({"model_name": transcript.model} if transcript.model else {}),
        },
        "steps": steps,
        "final_metrics": _known(
            total_prompt_tokens=usage.prompt_tokens,
            total_completion_tokens=usage.output_tokens,
            total_cached_tokens=usage.cache_read_tokens,
            total_cost_usd=transcript.cost_usd,
            total_steps=len(steps),
        ),
        "extra": {"cwd": transcript.cwd, "title": transcript.title},
    }
    return json.dumps(json.loads(ascii_json(whole)), indent=1).encode() + b"\n"


def _after(said: tuple[Said, ...], place: int) -> dict[str, ToolResult]:
    """Results that stand between a message and the next answer; ids count within one message only."""
    found: dict[str, ToolResult] = {}
    for one in said[place + 1 :]:
        if isinstance(one.message, AssistantMessage):
            break
        if isinstance(one.message, ToolResult):
            found.setdefault(one.message.call_id, one.message)
    return found


def _step(one: Said, results: dict[str, ToolResult]) -> dict[str, Any]:
    message = one.message
    if isinstance(message, UserMessage):
        return {"source": "user", "message": _words(message.content)}
    if not isinstance(message, AssistantMessage):
        assert not isinstance(message, ToolResult)
        return {"source": "system", "message": message.text}
    step: dict[str, Any] = {"source": "agent", "message": message.text, "llm_call_count": 1}
    if message.native is not None:
        step["model_name"] = message.native.model
    if thought := "\n\n".join(b.text for b in message.content if isinstance(b, Thinking) and b.text):
        step["reasoning_content"] = thought
    if message.calls:
        step["tool_calls"] = [
            {"tool_call_id": call.id, "function_name": call.name, "arguments": arguments_of(call)}
            for call in message.calls
        ]
        answered = [results[call.id] for call in message.calls if call.id in results]
        step["observation"] = {"results": [_result(result) for result in answered]}
    if metrics := _metrics(message.usage, one.cost_usd):
        step["metrics"] = metrics
    if message.error:
        step["extra"] = {"stop": message.stop, "error": message.error}
    return step


def _result(result: ToolResult) -> dict[str, Any]:
    found: dict[str, Any] = {"source_call_id": result.call_id, "content": _words(result.content)}
    if result.is_error:
        found["extra"] = {"is_error": True, "code": result.code}
    return found


def _words(blocks: tuple[Text | Image, ...]) -> str:
    return "".join(block.text if isinstance(block, Text) else f"[{block.media_type}]" for block in blocks)


def _metrics(usage: Usage | None, cost: float | None) -> dict[str, Any]:
    if usage is None:
        return {}
    return _known(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        cost_usd=cost,
    )


def _known(**figures: Any) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if value is not None}
