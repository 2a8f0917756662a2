"""OpenAI Responses: request builder; the decoder is `providers.openai_responses_stream`.

Pure.  Asks the service to store nothing, unless the user allows it: what it said is kept item by item as it
came, reasoning sealed, and sent back unchanged to the same model.  Where it may store, a request continues
the stored response and holds only what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wisp.messages.content import Image, Text, ToolCall
from wisp.messages.message import AssistantMessage, Message, ToolResult
from wisp.providers import responses_compaction as compaction
from wisp.providers.base import ModelRequest
from wisp.providers.convert import CallIds, Exchange, HistoryEncoder, exchange, images, texts
from wisp.providers.lower import Offered, Offering
from wisp.providers.openai_responses_stream import ResponsesDecoder
from wisp.providers.wire import Target, WireRequest, allowed_effort, dump, raw_json

API = "openai-responses"
PATH = "/responses"


class ResponsesBuilder:
    """Builds the requests of one conversation."""

    def __init__(self, provider: str, store: bool) -> None:
        self._provider = provider
        self._store = store
        self._history = HistoryEncoder(_fragments)
        self._offering = Offering(API)
        self._sent: tuple[Message, ...] = ()

    def build(self, request: ModelRequest, *, whole: bool = False) -> WireRequest:
        """The request as bytes; the history stands last, so that a longer one only appends."""
        if request.compact:
            return compaction.request_of(self._provider, request, _fragments)
        target = Target(API, self._provider, request.model.id)
        offered = self._offering.of(request.tools)
        history = self._history.encode(request.messages, target, request.model)
        head = _head(request, offered, self._store)
        cursor = "" if whole or not self._store else self._continued(request, target)
        if cursor:
            head["previous_response_id"] = cursor
            new = exchange(request.messages[len(self._sent) :], target, request.model, CallIds())
            history = [b",".join(_fragments(msgspec.structs.replace(new, assistant=None), True))]
        if self._store:
            self._sent = tuple(request.messages)
        body = b"".join((dump(head)[:-1], b',"input":[', *history, b"]}"))
        notes = (*offered.notes, *self._history.notes)
        return WireRequest(PATH, body, (), notes, offered.names, self._history.rewritten, cursor)

    def _continued(self, request: ModelRequest, target: Target) -> str:
        """The id of the stored response that knows all but what is new; empty where none does.

        Only what this builder itself sent counts as known: the service's copy of a conversation that was
        resumed, or changed in between, is not trusted.
        """
        known = len(self._sent)
        messages = request.messages
        if not known or len(messages) < known + 2 or tuple(messages[:known]) != self._sent:
            return ""
        answer, *rest = messages[known:]
        if not isinstance(answer, AssistantMessage) or any(isinstance(m, AssistantMessage) for m in rest):
            return ""
        whole = answer.stop not in ("error", "cancelled") and not any(call.fault for call in answer.calls)
        native = answer.native
        return native.response_id if whole and native is not None and target.owns(answer) else ""


def _head(request: ModelRequest, offered: Offered, store: bool) -> dict[str, Any]:
    model = request.model
    head: dict[str, Any] = {"model": model.id, "stream": True, "store": store}
    if model.compat.get("supports_include", model.reasoning):
        head["include"] = ["reasoning.encrypted_content"]
    system = "\n\n".join(block for block in request.system if block.strip())
    if system:
        head["instructions"] = system
    if offered.tools:
        head["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in offered.tools
        ]
    if request.session_id:
        head["prompt_cache_key"] = request.session_id[:64]
    effort = allowed_effort(request)
    if effort:
        head["reasoning"] = {"effort": effort, "summary": "auto"}
    if request.max_output is not None:
        head["max_output_tokens"] = max(request.max_output, 16)
    if request.output_schema is not None:
        head["text"] = {
            "format": {
                "type": "json_schema",
                "name": "answer",
                "schema": request.output_schema,
                "strict": True,
            }
        }
    head.update(model.compat.get("extra_body") or {})
    return head


class _ItemHead(msgspec.Struct):
    type: str = ""
    role: str = ""
    encrypted_content: str | None = None


_ITEM_HEAD = msgspec.json.Decoder(_ItemHead)


def _fragments(exchange: Exchange, last: bool) -> list[bytes]:
    made = [bytes(raw) for text in exchange.before if (raw := raw_json(text)) is not None]
    if exchange.assistant is not None:
        made += _native_items(exchange) or _portable_items(exchange)
    made += [dump(_result(result)) for result in exchange.results]
    for blocks in exchange.said:
        made.append(dump({"role": "user", "content": _content(blocks)}))
    return made


def _native_items(exchange: Exchange) -> list[bytes]:
    """The model's own items as they came; a call whose arguments were refused, or that had to get
    another id, is spelled anew."""
    answer = exchange.assistant
    assert answer is not None
    if not exchange.native_items:
        return []
    calls = list(answer.calls)
    made: list[tuple[str, bytes]] = []
    for text in exchange.native_items:
        raw = raw_json(text)
        if raw is None:
            return []
        try:
            head = _ITEM_HEAD.decode(raw)
        except msgspec.DecodeError:
            return []
        if head.type == "reasoning" and not head.encrypted_content:
            continue  # lives in the service's store only, where nothing of ours is kept
        item = bytes(raw)
        if head.type == "function_call":
            if not calls:
                return []
            call = calls.pop(0)
            item = item if _same_call(item, call) else dump(_call(call))
        made.append((head.type, item))
    if calls:
        return []
    while made and made[-1][0] == "reasoning":
        made.pop()
    return [item for _, item in made]


class _CallItem(msgspec.Struct):
    call_id: str = ""
    name: str = ""


_CALL_ITEM = msgspec.json.Decoder(_CallItem)


def _same_call(item: bytes, call: ToolCall) -> bool:
    try:
        said = _CALL_ITEM.decode(item)
    except msgspec.DecodeError:
        return False
    return not call.fault and said.call_id == call.id and said.name == call.name


def _portable_items(exchange: Exchange) -> list[bytes]:
    assert exchange.assistant is not None
    made = []
    for block in exchange.assistant.content:
        if isinstance(block, Text) and block.text.strip():
            made.append(dump({"role": "assistant", "content": block.text}))
        elif isinstance(block, ToolCall):
            made.append(dump(_call(block)))
    return made


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _result(result: ToolResult) -> dict[str, Any]:
    output: Any = texts(result.content)
    if images(result.content):
        output = _content(result.content)
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _content(blocks: Sequence[Text | Image]) -> list[dict[str, Any]]:
    return [
        {"type": "input_text", "text": block.text}
        if isinstance(block, Text)
        else {
            "type": "input_image",
            "image_url": f"data:{block.media_type};base64,{block.data}",
            "detail": "auto",
        }
        for block in blocks
    ]


def builder(provider: str, *, store: bool = False) -> ResponsesBuilder:
    """A builder for one conversation."""
    return ResponsesBuilder(provider, store)


def decoder(target: Target, mint: Callable[[], str]) -> ResponsesDecoder:
    """A decoder for one response."""
    return ResponsesDecoder(target, mint)


def auth_headers(key: str) -> tuple[tuple[str, str], ...]:
    """OpenAI's way of carrying the key."""
    return (("authorization", f"Bearer {key}"),) if key else ()
