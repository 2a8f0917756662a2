"""OpenAI Responses: the event decoder of `providers.openai_responses`.

Pure: events in, provider events out, no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wisp.messages.content import AssistantBlock, Opaque, Text, Thinking
from wisp.messages.message import StopReason
from wisp.messages.usage import Usage
from wisp.providers.errors import WireError
from wisp.providers.events import (
    ArgumentsDelta,
    Finished,
    PartKind,
    ProviderEvent,
    Started,
    TextDelta,
    ThinkingDelta,
)
from wisp.providers.parts import Parts
from wisp.providers.wire import (
    Target,
    dump,
    figure,
    has_calls,
    load,
    make_call,
    make_message,
    refuse_known,
    sendable,
    stream_error,
    unknown_stop,
    word,
)


class _Event(msgspec.Struct):
    type: str = ""
    output_index: int | None = None
    delta: Any = None
    item: msgspec.Raw = msgspec.Raw()
    response: dict[str, Any] | None = None
    summary_index: int | None = None
    error: Any = None
    code: Any = None
    message: str | None = None


class _Item(msgspec.Struct):
    """The fields of an output item that are looked at; the whole is kept as text."""

    type: str = ""
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None
    content: list[dict[str, Any]] | None = None
    summary: list[dict[str, Any]] | None = None


_EVENT = msgspec.json.Decoder(_Event | None)
_ITEMS = frozenset(("item",))
_ITEM = msgspec.json.Decoder(_Item)

_PART_OF: dict[str, PartKind] = {
    "message": "text",
    "reasoning": "thinking",
    "function_call": "tool_call",
}
_TEXT = frozenset(("response.output_text.delta", "response.refusal.delta"))
_THOUGHT = frozenset(("response.reasoning_summary_text.delta", "response.reasoning_text.delta"))
_CALL = "response.function_call_arguments.delta"
_USED = frozenset(
    (
        *_TEXT,
        *_THOUGHT,
        _CALL,
        "response.created",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "error",
    )
)


class _OpenItem(msgspec.Struct):
    part: int
    kind: PartKind
    type: str
    call_id: str = ""
    summary: int = 0


class ResponsesDecoder:
    """Decodes one streamed response."""

    def __init__(self, target: Target, mint: Callable[[], str]) -> None:
        self.complete = False
        self.finished = False
        self.ignored = 0
        self._target = target
        self._mint = mint
        self._parts = Parts()
        self._open: dict[int, _OpenItem] = {}
        self._items: dict[int, str] = {}
        self._begun = False
        self._refused = False
        self._response_id = ""

    def feed(self, name: str, data: bytes) -> Sequence[ProviderEvent]:
        """Take one event.

        Raises:
            ProviderError: an error event, a failed response, or a breach of the protocol.
        """
        if self.finished or data == b"[DONE]":
            return ()
        try:
            event = load(data, _EVENT, _ITEMS)
        except msgspec.ValidationError:
            refuse_known(data, _USED)
            self.ignored += 1
            return ()
        if event is None:
            self.ignored += 1
            return ()
        kind = event.type or name
        if kind in _TEXT or kind in _THOUGHT or kind == _CALL:
            return self._delta(kind, event)
        events: list[ProviderEvent] = []
        if kind == "response.created":
            self._start(event.response or {}, events)
        elif kind == "response.output_item.added":
            self._added(event, events)
        elif kind == "response.output_item.done":
            self._done(event, events)
        elif kind in ("response.completed", "response.incomplete"):
            self._end(event.response or {}, events)
        elif kind == "response.failed":
            raise stream_error((event.response or {}).get("error"))
        elif kind == "error":
            raise stream_error(event.error or {"code": event.code, "message": event.message})
        else:
            self.ignored += 1
        return events

    def end(self) -> Sequence[ProviderEvent]:
        """The bytes are over; lawful only after a terminal event.

        Raises:
            WireError: none was seen.
        """
        if not self.finished:
            raise WireError("the answer stopped before its end")
        return ()

    def _start(self, response: dict[str, Any], events: list[ProviderEvent]) -> None:
        if self._begun:
            return
        self._begun = True
        self._response_id = word(response.get("id"))
        events.append(Started(self._response_id, word(response.get("model"))))

    def _added(self, event: _Event, events: list[ProviderEvent]) -> None:
        self._start({}, events)
        index = event.output_index or 0
        if index in self._open:
            raise WireError(f"protocol error: item {index} was added twice")
        self._open_item(index, _item(event.item), events)

    def _open_item(self, index: int, item: _Item, events: list[ProviderEvent]) -> _OpenItem:
        kind = _PART_OF.get(item.type, "opaque")
        call_id = (word(item.call_id) or self._mint()) if kind == "tool_call" else ""
        started = self._parts.start(kind, call_id, word(item.name) if kind == "tool_call" else "")
        opened = _OpenItem(started.index, kind, item.type, call_id)
        self._open[index] = opened
        events.append(started)
        return opened

    def _delta(self, kind: str, event: _Event) -> Sequence[ProviderEvent]:
        opened = self._open.get(event.output_index or 0)
        if opened is None:
            raise WireError(f"protocol error: a delta for item {event.output_index}, which is not open")
        text = event.delta
        if not isinstance(text, str) or not text:
            self.ignored += 1
            return ()
        if opened.kind == "text" and kind in _TEXT:
            self._refused = self._refused or kind == "response.refusal.delta"
            text = self._parts.grow(opened.part, text)
            return (TextDelta(opened.part, text),) if text else ()
        if opened.kind == "thinking" and kind in _THOUGHT:
            if event.summary_index is not None and event.summary_index != opened.summary:
                opened.summary = event.summary_index
                text = "\n\n" + text
            text = self._parts.grow(opened.part, text)
            return (ThinkingDelta(opened.part, text),) if text else ()
        if opened.kind == "tool_call" and kind == _CALL:
            text = self._parts.grow(opened.part, text)
            return (ArgumentsDelta(opened.part, text),) if text else ()
        self.ignored += 1
        return ()

    def _done(self, event: _Event, events: list[ProviderEvent]) -> None:
        """An item is whole: what it says counts, not the deltas."""
        self._start({}, events)
        index = event.output_index or 0
        if index in self._items:
            raise WireError(f"protocol error: item {index} was done twice")
        item = _item(event.item)
        opened = self._open.pop(index, None)
        if opened is None:
            opened = self._open_item(index, item, events)
            del self._open[index]
        if _PART_OF.get(item.type, "opaque") != opened.kind:
            raise WireError(f"protocol error: item {index} began as {opened.type} and ended as {item.type}")
        text = sendable(event.item)
        self._items[index] = text
        events.append(self._parts.end(opened.part, self._block(opened, item, text)))

    def _block(self, opened: _OpenItem, item: _Item, whole: str) -> AssistantBlock:
        said = self._parts.joined(opened.part)
        if opened.kind == "text":
            parts = item.content or []
            self._refused = self._refused or any(part.get("type") == "refusal" for part in parts)
            text = "".join(word(part.get("text")) or word(part.get("refusal")) for part in parts)
            return Text(text or said)
        if opened.kind == "thinking":
            pieces = [word(part.get("text")) for part in (item.summary or item.content or ())]
            return Thinking("\n\n".join(piece for piece in pieces if piece) or said)
        if opened.kind == "tool_call":
            arguments = item.arguments if isinstance(item.arguments, str) else said
            return make_call(opened.call_id, word(item.name), arguments or said)
        return Opaque(item.type or "unknown", whole)

    def _end(self, response: dict[str, Any], events: list[ProviderEvent]) -> None:
        incomplete = response.get("status") == "incomplete" or bool(response.get("incomplete_details"))
        self._start(response, events)
        if self._open and not incomplete:
            raise WireError("protocol error: the response completed while an item was still open")
        for index in sorted(self._open):  # cut by the length limit: kept as far as it came, calls refused
            opened = self._open.pop(index)
            item = _Item(opened.type, opened.call_id, "", None)
            block = self._block(opened, item, "{}")
            events.append(self._parts.end(opened.part, block))
        if not self._items:
            self._unstreamed(response.get("output"), events)
        self.complete = self.finished = True
        blocks = self._parts.blocks()
        stop, error = self._stop(response, incomplete, blocks)
        items = tuple(self._items[index] for index in sorted(self._items))
        native = self._target.native(items, word(response.get("id")) or self._response_id)
        usage = usage_of(response.get("usage"))
        events.append(Finished(make_message(blocks, stop, usage, native, error)))

    def _unstreamed(self, output: Any, events: list[ProviderEvent]) -> None:
        """Words that only the terminal event holds; a call that was never streamed is none."""
        for index, value in enumerate(output if isinstance(output, list) else ()):
            raw = dump(value)
            item = _item(msgspec.Raw(raw))
            if _PART_OF.get(item.type) == "tool_call":
                raise WireError("protocol error: a call stands in the end of the response and nowhere else")
            opened = self._open_item(index, item, events)
            del self._open[index]
            self._items[index] = raw.decode()
            events.append(self._parts.end(opened.part, self._block(opened, item, raw.decode())))

    def _stop(
        self, response: dict[str, Any], incomplete: bool, blocks: list[AssistantBlock]
    ) -> tuple[StopReason, str]:
        if incomplete:
            details = response.get("incomplete_details")
            reason = word(details.get("reason")) if isinstance(details, dict) else ""
            if reason in ("max_output_tokens", "max_tokens"):
                return "length", ""
            if reason == "content_filter":
                return "content_filter", ""
            return unknown_stop(reason or "incomplete", blocks)
        status = response.get("status")
        if status not in ("completed", None):
            return unknown_stop(word(status) or "no status", blocks)
        if self._refused:
            return "refusal", ""
        return ("tool_calls" if has_calls(blocks) else "stop"), ""


def _item(raw: msgspec.Raw) -> _Item:
    if not bytes(raw):
        raise WireError("protocol error: an item event without its item")
    try:
        return _ITEM.decode(sendable(raw))
    except msgspec.DecodeError:
        raise WireError("an item of the answer has the wrong shape") from None


def usage_of(raw: Any) -> Usage | None:
    """The figures without overlap: the input figure includes what was cached."""
    if not isinstance(raw, dict) or not raw:
        return None
    details = raw.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = figure(details.get("cached_tokens"))
    written = figure(details.get("cache_write_tokens"))
    prompt = figure(raw.get("input_tokens"))
    if prompt is not None:
        prompt = max(prompt - (cached or 0) - (written or 0), 0)
    made = raw.get("output_tokens_details")
    reasoning = figure(made.get("reasoning_tokens")) if isinstance(made, dict) else None
    return Usage(prompt, figure(raw.get("output_tokens")), cached, written, reasoning)
