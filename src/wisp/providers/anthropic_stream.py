"""Anthropic Messages: the event decoder of `providers.anthropic`.

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
    load,
    make_call,
    make_message,
    raw_json,
    refuse_known,
    stream_error,
    unknown_stop,
    word,
)

# The stream.  Only the fields that are looked at; whatever else comes is skipped undecoded.


class _Delta(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: Any = None
    content: Any = None
    encrypted_content: Any = None
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int | None = None
    delta: _Delta | None = None
    content_block: dict[str, Any] | None = None
    message: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_EVENT = msgspec.json.Decoder(_Event | None)
_KNOWN = frozenset(
    (
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
    )
)

_STOPS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}


_DELTAS: dict[str, type[TextDelta | ThinkingDelta | ArgumentsDelta]] = {
    "text": TextDelta,
    "thinking": ThinkingDelta,
    "tool_use": ArgumentsDelta,
}


class _OpenBlock(msgspec.Struct):
    """A block whose deltas are coming in."""

    part: int
    kind: str
    start: dict[str, Any]
    signature: str = ""
    citations: list[Any] = []


class MessagesDecoder:
    """Decodes one streamed response."""

    def __init__(self, target: Target, mint: Callable[[], str]) -> None:
        self.complete = False
        self.finished = False
        self.ignored = 0
        self._target = target
        self._mint = mint
        self._parts = Parts()
        self._open: dict[int, _OpenBlock] = {}
        self._items: dict[int, str] = {}
        self._begun = False
        self._response_id = ""
        self._reason = ""
        self._usage: dict[str, Any] = {}

    def feed(self, name: str, data: bytes) -> Sequence[ProviderEvent]:
        """Take one event.

        Raises:
            ProviderError: an error event, or a breach of the protocol.
        """
        if self.finished:
            return ()
        try:
            event = load(data, _EVENT)
        except msgspec.ValidationError:
            refuse_known(data, _KNOWN)
            self.ignored += 1
            return ()
        if event is None:
            self.ignored += 1
            return ()
        kind = event.type or name
        if kind == "content_block_delta":
            return self._delta(event)
        events: list[ProviderEvent] = []
        if kind == "message_start":
            self._start(event.message or {}, events)
        elif kind == "content_block_start":
            self._block_start(event, events)
        elif kind == "content_block_stop":
            self._block_stop(event, events)
        elif kind == "message_delta":
            self._message_delta(event)
        elif kind == "message_stop":
            self._stop(events)
        elif kind == "error":
            raise stream_error(event.error)
        else:
            self.ignored += 1
        return events

    def end(self) -> Sequence[ProviderEvent]:
        """The bytes are over; lawful only after `message_stop`.

        Raises:
            WireError: it was not seen.
        """
        if not self.finished:
            raise WireError("the answer stopped before its end")
        return ()

    def _start(self, message: dict[str, Any], events: list[ProviderEvent]) -> None:
        if self._begun:
            return
        self._begun = True
        self._response_id = word(message.get("id"))
        if isinstance(message.get("usage"), dict):
            self._usage.update(message["usage"])
        events.append(Started(self._response_id, word(message.get("model"))))

    def _block_start(self, event: _Event, events: list[ProviderEvent]) -> None:
        self._start({}, events)
        index, start = event.index or 0, event.content_block or {}
        if index in self._open:
            raise WireError(f"protocol error: block {index} was started twice")
        kind = word(start.get("type"))
        if kind == "text":
            started = self._parts.start("text")
        elif kind == "thinking" or kind == "redacted_thinking":
            started = self._parts.start("thinking")
        elif kind == "tool_use":
            start["id"] = word(start.get("id")) or self._mint()
            started = self._parts.start("tool_call", start["id"], word(start.get("name")))
        else:
            started = self._parts.start("opaque")
        block = _OpenBlock(started.index, kind, start, citations=[])
        self._open[index] = block
        events.append(started)
        opening = start.get("thinking") if kind == "thinking" else start.get("text")
        if kind in ("text", "thinking") and isinstance(opening, str) and opening:
            events += self._grown(block, opening)
        if isinstance(start.get("signature"), str):
            block.signature = start["signature"]

    def _delta(self, event: _Event) -> Sequence[ProviderEvent]:
        block = self._open.get(event.index or 0)
        if block is None:
            raise WireError(f"protocol error: a delta for block {event.index}, which is not open")
        delta = event.delta
        if delta is None:
            self.ignored += 1
            return ()
        if delta.type == "text_delta" and block.kind == "text":
            return self._grown(block, delta.text or "")
        if delta.type == "thinking_delta" and block.kind == "thinking":
            return self._grown(block, delta.thinking or "")
        if delta.type == "input_json_delta":
            return self._grown(block, delta.partial_json or "")
        if delta.type == "signature_delta":
            block.signature = delta.signature or block.signature
        elif delta.type == "citations_delta":
            block.citations.append(delta.citation)
        elif delta.type == "compaction_delta":
            block.start["content"] = delta.content
            if delta.encrypted_content is not None:
                block.start["encrypted_content"] = delta.encrypted_content
        else:
            self.ignored += 1
        return ()

    def _grown(self, block: _OpenBlock, text: str) -> Sequence[ProviderEvent]:
        return _shown(block, self._parts.grow(block.part, text)) if text else ()

    def _block_stop(self, event: _Event, events: list[ProviderEvent]) -> None:
        block = self._open.pop(event.index or 0, None)
        if block is None:
            self.ignored += 1  # says nothing, loses nothing
            return
        events += _shown(block, self._parts.rest(block.part))
        text = self._parts.joined(block.part)
        made: AssistantBlock
        if block.kind == "text":
            made = Text(text)
            if block.citations or _extra(block.start, ("type", "text", "citations")):
                whole = {**block.start, "text": text}
                if block.citations:
                    whole["citations"] = block.citations
                self._items[block.part] = dump(whole).decode()
        elif block.kind == "thinking":
            made = Thinking(text, block.signature)
            if _extra(block.start, ("type", "thinking", "signature")):
                whole = {**block.start, "thinking": text, "signature": block.signature}
                self._items[block.part] = dump(whole).decode()
        elif block.kind == "redacted_thinking":
            made = Thinking("", redacted=word(block.start.get("data")))
        elif block.kind == "tool_use":
            given = block.start.get("input")
            arguments = text or (dump(given).decode() if isinstance(given, dict) and given else "")
            made = make_call(block.start["id"], word(block.start.get("name")), arguments)
        else:
            made = Opaque(block.kind or "unknown", _opaque(block, text))
        events.append(self._parts.end(block.part, made))

    def _message_delta(self, event: _Event) -> None:
        if event.delta is not None and event.delta.stop_reason:
            self._reason = event.delta.stop_reason
        for name, value in (event.usage or {}).items():
            if value is not None:
                self._usage[name] = value

    def _stop(self, events: list[ProviderEvent]) -> None:
        self._start({}, events)
        if self._open and _STOPS.get(self._reason) != "length":
            raise WireError("protocol error: the message stopped while a block was still open")
        for index in sorted(self._open):  # cut by the limit: kept as far as it came, nothing of it runs
            self._block_stop(_Event(index=index), events)
        self.complete = self.finished = True
        blocks = self._parts.blocks()
        stop: StopReason | None = _STOPS.get(self._reason)
        error = ""
        if stop is None:
            stop, error = unknown_stop(self._reason, blocks)
        items = tuple(self._items.get(k, "") for k in self._parts.kept()) if self._items else ()
        native = self._target.native(items, self._response_id)
        events.append(Finished(make_message(blocks, stop, usage_of(self._usage), native, error)))


def _shown(block: _OpenBlock, text: str) -> Sequence[ProviderEvent]:
    delta = _DELTAS.get(block.kind)
    return (delta(block.part, text),) if delta is not None and text else ()


def _opaque(block: _OpenBlock, text: str) -> str:
    """A block of another kind as the JSON it would be if it had come whole."""
    whole = dict(block.start)
    if text:
        whole["input"] = raw_json(text) or text
    return dump(whole).decode()


def _extra(start: dict[str, Any], known: tuple[str, ...]) -> bool:
    return any(name not in known and value is not None for name, value in start.items())


def usage_of(raw: dict[str, Any]) -> Usage | None:
    """Anthropic's figures: the input figure already leaves the cache out."""

    if not raw:
        return None
    details = raw.get("output_tokens_details")
    return Usage(
        figure(raw.get("input_tokens")),
        figure(raw.get("output_tokens")),
        figure(raw.get("cache_read_input_tokens")),
        figure(raw.get("cache_creation_input_tokens")),
        figure(details.get("thinking_tokens")) if isinstance(details, dict) else None,
    )
