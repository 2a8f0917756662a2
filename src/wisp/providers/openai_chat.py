"""OpenAI Chat Completions, and the many servers that speak it: request builder and event decoder.

Pure: bytes to the network and events from it, no I/O.  Servers differ; `Compat` holds the differences as
data, set per provider or model (`ModelInfo.compat`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from wisp.messages.content import Text, Thinking, ToolCall
from wisp.providers.base import ModelRequest
from wisp.providers.convert import Exchange, HistoryEncoder, images, texts
from wisp.providers.lower import Offered, Offering
from wisp.providers.openai_chat_stream import ChatDecoder
from wisp.providers.wire import (
    Target,
    WireRequest,
    allowed_effort,
    dump,
    raw_json,
)

API = "openai-chat"
PATH = "/chat/completions"


class Compat(msgspec.Struct, frozen=True):
    """How a server differs.  The defaults are understood nearly everywhere."""

    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    supports_developer_role: bool = False
    supports_usage_in_stream: bool = True
    supports_effort: bool = True
    supports_cache_key: bool = False
    """Whether `prompt_cache_key` is accepted."""
    strict: bool = False
    """Whether tools are offered with `strict: false` spelled out, which one vendor wants."""
    reasoning_field: str = ""
    """The message field in which this vendor wants its reasoning back, for instance `reasoning_content`."""
    empty_content: Literal["null", "empty"] = "null"
    """What stands for the text of an answer that has only calls."""
    call_id_length: int = 40
    """Longest call id the server takes."""
    extra_body: dict[str, Any] = {}
    """Fields added to every request as they are."""


def compat_of(switches: dict[str, Any]) -> Compat:
    """The switches of a settings file; unknown names belong to other dialects."""
    return msgspec.convert(switches, Compat, strict=False) if switches else Compat()


class ChatBuilder:
    """Builds the requests of one conversation."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._compat = Compat()
        self._history: HistoryEncoder | None = None
        self._offering = Offering(API)

    def build(self, request: ModelRequest, *, whole: bool = False) -> WireRequest:
        """The request as bytes; the history stands last, so that a longer one only appends."""
        compat = compat_of(request.model.compat)
        if self._history is None or compat != self._compat:
            self._compat = compat
            self._history = HistoryEncoder(self._fragments, compat.call_id_length)
        target = Target(API, self._provider, request.model.id)
        history = self._history.encode(request.messages, target, request.model)
        role = "developer" if compat.supports_developer_role else "system"
        system = [dump({"role": role, "content": block}) for block in request.system if block.strip()]
        offered = self._offering.of(request.tools)
        head = dump(self._head(request, compat, offered))[:-1]
        comma = b"," if system and history else b""
        opening = (head, b',"messages":[', b",".join(system), comma)
        body = b"".join((*opening, *history, b"]}"))
        notes = (*offered.notes, *self._history.notes)
        return WireRequest(PATH, body, (), notes, offered.names, self._history.rewritten)

    def _head(self, request: ModelRequest, compat: Compat, offered: Offered) -> dict[str, Any]:
        head: dict[str, Any] = {"model": request.model.id, "stream": True}
        if compat.supports_usage_in_stream:
            head["stream_options"] = {"include_usage": True}
        if offered.tools:
            head["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                        **({"strict": False} if compat.strict else {}),
                    },
                }
                for tool in offered.tools
            ]
        if request.max_output is not None:
            head[compat.max_tokens_field] = request.max_output
        effort = allowed_effort(request)
        if effort and compat.supports_effort:
            head["reasoning_effort"] = effort
        if request.session_id and compat.supports_cache_key:
            head["prompt_cache_key"] = request.session_id[:64]
        if request.output_schema is not None:
            head["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": request.output_schema, "strict": True},
            }
        head.update(compat.extra_body)
        return head

    def _fragments(self, exchange: Exchange, last: bool) -> list[bytes]:
        made: list[bytes] = []
        answer = exchange.assistant
        if answer is not None:
            text = "".join(block.text for block in answer.content if isinstance(block, Text))
            message: dict[str, Any] = {"role": "assistant", "content": text}
            calls = answer.calls
            if calls:
                if not text:
                    message["content"] = None if self._compat.empty_content == "null" else ""
                message["tool_calls"] = [_call(call) for call in calls]
            field = self._compat.reasoning_field
            if field and exchange.own:
                message.update(_reasoning(exchange, field))
            made.append(dump(message))
        pictures: list[Any] = []
        for result in exchange.results:
            content = texts(result.content)
            shown = images(result.content)
            if shown:
                content = (content + "\n" if content else "") + "(the image follows)"
                pictures += [_image(picture.media_type, picture.data) for picture in shown]
            made.append(dump({"role": "tool", "tool_call_id": result.call_id, "content": content}))
        if pictures:
            made.append(dump({"role": "user", "content": pictures}))
        for blocks in exchange.said:
            made.append(dump({"role": "user", "content": _content(blocks)}))
        return made


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _content(blocks: Sequence[Any]) -> Any:
    if not images(blocks):
        return texts(blocks)
    return [
        {"type": "text", "text": block.text}
        if isinstance(block, Text)
        else _image(block.media_type, block.data)
        for block in blocks
    ]


def _image(media_type: str, data: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}


def _reasoning(exchange: Exchange, field: str) -> dict[str, Any]:
    """The reasoning as this vendor said it, under the vendor's name, else as text."""
    assert exchange.assistant is not None
    native = exchange.assistant.native
    for item in native.items if native is not None else ():
        raw = raw_json(item)
        value = msgspec.json.decode(raw) if raw is not None else None
        if isinstance(value, dict) and field in value:
            return {field: value[field]}
    thoughts = [block.text for block in exchange.assistant.content if isinstance(block, Thinking)]
    return {field: "".join(thoughts)} if thoughts else {}


def builder(provider: str, *, store: bool = False) -> ChatBuilder:
    """A builder for one conversation."""
    return ChatBuilder(provider)


def decoder(target: Target, mint: Callable[[], str]) -> ChatDecoder:
    """A decoder for one response."""
    return ChatDecoder(target, mint)


def auth_headers(key: str) -> tuple[tuple[str, str], ...]:
    """OpenAI's way of carrying the key."""
    return (("authorization", f"Bearer {key}"),) if key else ()
