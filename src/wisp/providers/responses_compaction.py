"""The compaction that a Responses service does itself: `POST /responses/compact`, one document each way.

The request holds items as any other; the answer holds items that go before all later ones, unchanged: what
the user said, and one whose content only the service can read.  Pure.  As OpenAI describes it in the guide on
compaction and the reference page "Compact a response" (2026).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from wisp.messages.message import AssistantMessage
from wisp.providers.base import ModelRequest
from wisp.providers.convert import Encode, HistoryEncoder
from wisp.providers.errors import WireError
from wisp.providers.openai_responses_stream import usage_of
from wisp.providers.wire import Target, WireRequest, dump, sendable

API = "openai-responses"
PATH = "/responses/compact"


class _Answer(msgspec.Struct):
    object: str = ""
    id: str = ""
    output: list[msgspec.Raw] = []
    usage: Any = None


class _Item(msgspec.Struct):
    type: str = ""
    encrypted_content: str | None = None


def request_of(provider: str, request: ModelRequest, encode: Encode) -> WireRequest:
    """The request that asks for `request.messages` in short."""
    target = Target(API, provider, request.model.id)
    history = HistoryEncoder(encode)
    items = history.encode(request.messages, target, request.model)
    head: dict[str, Any] = {"model": request.model.id}
    system = "\n\n".join(block for block in request.system if block.strip())
    if system:
        head["instructions"] = system
    if request.session_id:
        head["prompt_cache_key"] = request.session_id[:64]
    body = b"".join((dump(head)[:-1], b',"input":[', *items, b"]}"))
    return WireRequest(PATH, body, notes=tuple(history.notes), document=partial(read, target))


def read(target: Target, body: bytes) -> AssistantMessage:
    """What the service made of it, as the `native` of an answer without words.

    Raises:
        WireError: it is not what was asked for.
    """
    try:
        answer = msgspec.json.decode(body, type=_Answer)
        items = [msgspec.json.decode(item, type=_Item) for item in answer.output]
        texts = tuple(sendable(item) for item in answer.output)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise WireError("the answer to a compaction is not the document that was asked for") from None
    sealed = [item for item in items if item.type == "compaction" and item.encrypted_content]
    if answer.object != "response.compaction" or not sealed:
        raise WireError("the answer to a compaction holds no compacted conversation")
    native = target.native(texts, answer.id)
    return AssistantMessage((), stop="stop", usage=usage_of(answer.usage), native=native)
