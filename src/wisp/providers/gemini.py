"""Gemini generateContent: request builder; the decoder is `providers.gemini_stream`.

Pure.  What the model said is kept part by part, because a signature belongs to the part it came in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from wisp.messages.content import Image, Text, ToolCall
from wisp.messages.message import AssistantMessage, ToolResult
from wisp.providers.base import ModelRequest
from wisp.providers.convert import (
    ENDS_WITH_ANSWER,
    GOING_ON,
    Exchange,
    HistoryEncoder,
    from_user,
    images,
    texts,
)
from wisp.providers.gemini_stream import GeminiDecoder
from wisp.providers.lower import Offered, Offering
from wisp.providers.wire import (
    Target,
    WireRequest,
    allowed_effort,
    dump,
    raw_json,
    raw_object,
)

API = "gemini"
VERSION = "v1beta"
NO_SIGNATURE = "skip_thought_signature_validator"
"""What the service wants in place of a signature for calls that another model made."""
_BUDGETS = {"minimal": 512, "low": 1_024, "medium": 8_192, "high": 24_576}


class GeminiBuilder:
    """Builds the requests of one conversation."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._history = HistoryEncoder(_fragments)
        self._offering = Offering(API)

    def build(self, request: ModelRequest, *, whole: bool = False) -> WireRequest:
        """The request as bytes; the history stands last, so that a longer one only appends."""
        model = request.model
        history = self._history.encode(request.messages, Target(API, self._provider, model.id), model)
        going_on = dump({"role": "user", "parts": [{"text": GOING_ON}]})
        offered = self._offering.of(request.tools)
        notes = [*offered.notes, *self._history.notes]
        history = from_user(history, going_on, notes)
        if request.messages and isinstance(request.messages[-1], AssistantMessage):
            history += [b",", going_on]
            notes.append(ENDS_WITH_ANSWER)
        head = dump(_head(request, offered))[:-1]
        comma = b"," if len(head) > 1 else b""
        version = model.compat.get("api_version", VERSION)
        path = f"/{version}/models/{_quoted(model.id)}:streamGenerateContent?alt=sse"
        body = b"".join((head, comma, b'"contents":[', *history, b"]}"))
        return WireRequest(path, body, (), tuple(notes), offered.names, self._history.rewritten)


def _quoted(model: str) -> str:
    plain = "-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return "".join(
        chr(byte) if chr(byte) in plain else f"%{byte:02X}"
        for byte in model.removeprefix("models/").encode("utf-8", "replace")
    )


def _head(request: ModelRequest, offered: Offered) -> dict[str, Any]:
    head: dict[str, Any] = {}
    system = [{"text": block} for block in request.system if block.strip()]
    if system:
        head["systemInstruction"] = {"parts": system}
    if offered.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
            for tool in offered.tools
        ]
        head["tools"] = [{"functionDeclarations": declared}]
    config: dict[str, Any] = {}
    if request.max_output is not None:
        config["maxOutputTokens"] = request.max_output
    effort = allowed_effort(request)
    if effort and request.model.compat.get("thinking") == "budget":
        config["thinkingConfig"] = {"includeThoughts": True, "thinkingBudget": _BUDGETS.get(effort, 8_192)}
    elif effort:
        config["thinkingConfig"] = {"includeThoughts": True, "thinkingLevel": effort}
    if request.output_schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = request.output_schema
    if config:
        head["generationConfig"] = config
    return head


class _Call(msgspec.Struct):
    id: str | None = None
    name: str = ""


class _Part(msgspec.Struct):
    function_call: _Call | None = msgspec.field(default=None, name="functionCall")


_PART = msgspec.json.Decoder(_Part)


def _fragments(exchange: Exchange, last: bool) -> list[bytes]:
    made: list[bytes] = []
    named: set[str] = set()
    if exchange.assistant is not None:
        parts = _native_parts(exchange, named)
        if not parts:
            named.clear()
            parts = _portable_parts(exchange)
        if parts:
            made.append(b'{"role":"model","parts":[' + b",".join(parts) + b"]}")
    content = [_result(result, result.call_id in named) for result in exchange.results]
    for result in exchange.results:
        content += [_picture(picture) for picture in images(result.content)]
    for blocks in exchange.said:
        for block in blocks:
            content.append({"text": block.text} if isinstance(block, Text) else _picture(block))
    if content:
        made.append(dump({"role": "user", "parts": content}))
    return made


def _native_parts(exchange: Exchange, named: set[str]) -> list[bytes]:
    """The model's own parts as they came; fills `named` with the calls that carried an id of their own."""
    answer = exchange.assistant
    assert answer is not None
    if not exchange.native_items:
        return []
    calls = list(answer.calls)
    made: list[bytes] = []
    for item in exchange.native_items:
        raw = raw_json(item)
        try:
            call = _PART.decode(raw).function_call if raw is not None else None
        except msgspec.DecodeError:
            return []
        if raw is None:
            return []
        if call is not None:
            if not calls or calls[0].fault or call.name != calls[0].name:
                return []
            ours = calls.pop(0)
            if call.id and call.id != ours.id:
                return []
            if call.id:
                named.add(ours.id)
        made.append(bytes(raw))
    return [] if calls else made


def _portable_parts(exchange: Exchange) -> list[bytes]:
    assert exchange.assistant is not None
    made: list[bytes] = []
    signed = False
    for block in exchange.assistant.content:
        if isinstance(block, Text) and block.text.strip():
            made.append(dump({"text": block.text}))
        elif isinstance(block, ToolCall):
            part: dict[str, Any] = {"functionCall": {"name": block.name, "args": raw_object(block.arguments)}}
            if not signed:
                part["thoughtSignature"] = NO_SIGNATURE
                signed = True
            made.append(dump(part))
    return made


def _result(result: ToolResult, named: bool) -> dict[str, Any]:
    key = "error" if result.is_error else "output"
    answer: dict[str, Any] = {"name": result.name, "response": {key: texts(result.content)}}
    return {"functionResponse": {"id": result.call_id, **answer} if named else answer}


def _picture(picture: Image) -> dict[str, Any]:
    return {"inlineData": {"mimeType": picture.media_type, "data": picture.data}}


def builder(provider: str, *, store: bool = False) -> GeminiBuilder:
    """A builder for one conversation."""
    return GeminiBuilder(provider)


def decoder(target: Target, mint: Callable[[], str]) -> GeminiDecoder:
    """A decoder for one response."""
    return GeminiDecoder(target, mint)


def auth_headers(key: str) -> tuple[tuple[str, str], ...]:
    """Google's way of carrying the key; never in the address."""
    return (("x-goog-api-key", key),) if key else ()
