"""Anthropic Messages: request builder and event decoder.

Pure: bytes to the network and events from it, no I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wisp.messages.content import AssistantBlock, Image, Opaque, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, ToolResult
from wisp.providers.anthropic_stream import MessagesDecoder
from wisp.providers.base import ModelRequest
from wisp.providers.convert import ENDS_WITH_ANSWER, GOING_ON, Exchange, HistoryEncoder, from_user, signed
from wisp.providers.lower import Offered, Offering
from wisp.providers.window import output_limit
from wisp.providers.wire import (
    Target,
    WireRequest,
    allowed_effort,
    dump,
    raw_json,
    raw_object,
)

API = "anthropic-messages"
PATH = "/v1/messages"
VERSION = "2023-06-01"
DEFAULT_MAX_OUTPUT = 8192
"""Asked for where neither request nor catalogue names a figure; the field is required."""


_BUDGETS = {"low": 2_048, "medium": 8_192, "high": 16_384}
"""Thinking tokens for models that take a figure instead of a level."""


class MessagesBuilder:
    """Builds the requests of one conversation."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._history = HistoryEncoder(_fragments)
        self._offering = Offering(API)

    def build(self, request: ModelRequest, *, whole: bool = False) -> WireRequest:
        """The request as bytes: what a cache may keep first, then the history, then what varies."""
        model = request.model
        history = self._history.encode(request.messages, Target(API, self._provider, model.id), model)
        offered = self._offering.of(request.tools)
        notes = [*offered.notes, *self._history.notes]
        going_on = dump({"role": "user", "content": GOING_ON})
        history = from_user(history, going_on, notes)
        if _ends_with_answer(request):
            history += [b",", going_on]
            notes.append(ENDS_WITH_ANSWER)
        head = dump(_head(request, offered))[:-1]
        ceiling = request.max_output or model.max_output or DEFAULT_MAX_OUTPUT
        limit = output_limit(request, ceiling, len(head) + sum(map(len, history)))
        limit = max(limit, _thinking_budget(request) + 1024)  # the answer comes on top of the thinking
        tail = b'],"max_tokens":%d}' % limit
        body = b"".join((head, b',"messages":[', *history, tail))
        return WireRequest(PATH, body, (), tuple(notes), offered.names, self._history.rewritten)


def _ends_with_answer(request: ModelRequest) -> bool:
    """Newer models refuse to go on from their own words; a paused answer is the exception."""
    if not request.messages:
        return False
    last = request.messages[-1]
    return isinstance(last, AssistantMessage) and last.stop not in ("pause", "error", "cancelled")


def _head(request: ModelRequest, offered: Offered) -> dict[str, Any]:
    head: dict[str, Any] = {"model": request.model.id, "stream": True}
    compat = request.model.compat
    if compat.get("cache_control", True):
        head["cache_control"] = {"type": "ephemeral"}
    config: dict[str, Any] = {}
    effort = allowed_effort(request)
    if effort and compat.get("thinking") == "budget":  # models before adaptive thinking
        head["thinking"] = {"type": "enabled", "budget_tokens": _BUDGETS.get(effort, 10_000)}
    elif effort:
        head["thinking"] = {"type": "adaptive", "display": "summarized"}
        config["effort"] = effort
    if request.output_schema is not None:
        config["format"] = {"type": "json_schema", "schema": request.output_schema}
    if config:
        head["output_config"] = config
    if offered.tools:
        head["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in offered.tools
        ]
    system = [{"type": "text", "text": block} for block in request.system if block.strip()]
    if system:
        head["system"] = system
    return head


def _thinking_budget(request: ModelRequest) -> int:
    effort = allowed_effort(request)
    return _BUDGETS.get(effort, 10_000) if effort and request.model.compat.get("thinking") == "budget" else 0


def _fragments(exchange: Exchange, last: bool) -> list[bytes]:
    made: list[bytes] = []
    answer = exchange.assistant
    if answer is not None:
        content = _answer(answer, exchange)
        if content:
            made.append(dump({"role": "assistant", "content": content}))
    content = [_result(result) for result in exchange.results]
    for blocks in exchange.said:
        content += [_block(block) for block in blocks]
    if content:
        made.append(dump({"role": "user", "content": content}))
    return made


def _answer(answer: AssistantMessage, exchange: Exchange) -> list[Any]:
    """The model's blocks; calls last, as the API wants them, where words came after a call."""
    native = answer.native
    blocks = list(answer.content)
    items = native.items if exchange.own and native is not None and len(native.items) == len(blocks) else ()
    made: list[tuple[AssistantBlock, Any]] = []
    for place, block in enumerate(blocks):
        if not signed(block) or (isinstance(block, Text) and not block.text.strip()):
            continue
        kept = raw_json(items[place]) if place < len(items) and items[place] else None
        if isinstance(block, ToolCall) or kept is None:
            kept = _block(block)
        if kept is not None:
            made.append((block, kept))
    first_call = next((k for k, (block, _) in enumerate(made) if isinstance(block, ToolCall)), len(made))
    if any(isinstance(block, Text) for block, _ in made[first_call:]):
        made.sort(key=lambda pair: isinstance(pair[0], ToolCall))
        exchange.notes.append("words that stood behind a call were moved before it")
    return [kept for _, kept in made]


def _block(block: Any) -> Any:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Image):
        source = {"type": "base64", "media_type": block.media_type, "data": block.data}
        return {"type": "image", "source": source}
    if isinstance(block, Thinking):
        if block.redacted:
            return {"type": "redacted_thinking", "data": block.redacted}
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    if isinstance(block, ToolCall):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": raw_object(block.arguments)}
    return raw_json(block.json) if isinstance(block, Opaque) else None


def _result(result: ToolResult) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": [_block(block) for block in result.content],
    }
    if result.is_error:
        made["is_error"] = True
    return made


def builder(provider: str, *, store: bool = False) -> MessagesBuilder:
    """A builder for one conversation."""
    return MessagesBuilder(provider)


def decoder(target: Target, mint: Callable[[], str]) -> MessagesDecoder:
    """A decoder for one response."""
    return MessagesDecoder(target, mint)


def auth_headers(key: str) -> tuple[tuple[str, str], ...]:
    """Anthropic's way of carrying the key, and the version every request names."""
    version = ("anthropic-version", VERSION)
    return (("x-api-key", key), version) if key else (version,)
