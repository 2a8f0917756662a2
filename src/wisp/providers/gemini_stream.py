"""Gemini generateContent: the event decoder of `providers.gemini`.

Pure: events in, provider events out, no I/O.  Every event is a whole response object with the next parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wisp.messages.codec import clean, paired
from wisp.messages.content import AssistantBlock, Opaque
from wisp.messages.message import StopReason
from wisp.messages.usage import Usage
from wisp.providers.errors import WireError
from wisp.providers.events import (
    ArgumentsDelta,
    Finished,
    ProviderEvent,
    Started,
)
from wisp.providers.parts import Parts, Prose
from wisp.providers.wire import (
    Target,
    dump,
    figure,
    has_calls,
    load,
    make_call,
    make_message,
    sendable,
    stream_error,
    unknown_stop,
)


class _Content(msgspec.Struct):
    parts: list[msgspec.Raw] = []


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: dict[str, Any] | None = None
    prompt_feedback: _Feedback | None = None
    model_version: str | None = None
    response_id: str | None = None
    error: Any = None


class _Call(msgspec.Struct):
    name: str = ""
    id: str | None = None
    args: msgspec.Raw = msgspec.Raw()


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: _Call | None = None


_CHUNK = msgspec.json.Decoder(_Chunk | None)
_PART = msgspec.json.Decoder(_Part)
_PARTS = frozenset(("parts",))
_ARGUMENTS = frozenset(("args",))

_STOPS: dict[str, StopReason] = {
    "STOP": "stop",
    "FUNCTION_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "LANGUAGE": "content_filter",
    "IMAGE_SAFETY": "content_filter",
}
_BROKEN = frozenset(
    ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE")
)
"""Endings by which the service says that its model failed: the attempt does not count."""


class GeminiDecoder:
    """Decodes one streamed response."""

    def __init__(self, target: Target, mint: Callable[[], str]) -> None:
        self.complete = False
        self.finished = False
        self.ignored = 0
        self._target = target
        self._mint = mint
        self._parts = Parts()
        self._prose = Prose(self._parts)
        self._items: list[str | list[str]] = []  # a list holds plain text that is still growing
        self._begun = False
        self._response_id = ""
        self._reason = ""
        self._blocked = False
        self._usage: dict[str, Any] = {}

    def feed(self, name: str, data: bytes) -> Sequence[ProviderEvent]:
        """Take one chunk.

        Raises:
            ProviderError: an error the server put into the stream, or bytes that are not the protocol.
        """
        if self.finished or data.strip() == b"[DONE]":
            return ()
        try:
            chunk = load(data, _CHUNK, _PARTS)
        except msgspec.ValidationError:
            if name not in ("", "message"):
                self.ignored += 1
                return ()
            raise WireError("a chunk of the answer does not have the shape of a response") from None
        if chunk is None:
            self.ignored += 1
            return ()
        if chunk.error:
            raise stream_error(chunk.error)
        events: list[ProviderEvent] = []
        if chunk.usage_metadata is not None:
            self._usage.update(chunk.usage_metadata)
        blocked = chunk.prompt_feedback is not None and bool(chunk.prompt_feedback.block_reason)
        if not chunk.candidates and not blocked:
            self.ignored += 1
            return events
        if not self._begun:
            self._begun = True
            self._response_id = clean(chunk.response_id or "")
            events.append(Started(self._response_id, clean(chunk.model_version or "")))
        if blocked:
            self._blocked = self.complete = True
        for candidate in (chunk.candidates or [])[:1]:
            self._candidate(candidate, events)
        return events

    def _candidate(self, candidate: _Candidate, events: list[ProviderEvent]) -> None:
        if self.complete:
            return
        for raw in candidate.content.parts if candidate.content is not None else ():
            try:
                part = load(bytes(raw), _PART, _ARGUMENTS)
            except msgspec.ValidationError:
                raise WireError("a part of the answer has the wrong shape") from None
            self._part(part, bytes(raw), events)
        if candidate.finish_reason:
            self._reason = candidate.finish_reason
            if self._reason in _BROKEN:
                said = clean(candidate.finish_message or "")[:200]
                raise WireError(f"the model's answer was malformed ({self._reason}) {said}".strip())
            self.complete = True

    def _part(self, part: _Part, raw: bytes, events: list[ProviderEvent]) -> None:
        if part.function_call is not None:
            self._prose.end(events)
            self._items.append(sendable(raw))
            self._call(part.function_call, events)
        elif part.text is not None:
            if part.thought_signature is None and not part.thought:
                self._plain(part.text)  # an empty one only carries the finish reason
            else:
                self._items.append(sendable(raw))
            if part.text:
                self._prose.say("thinking" if part.thought else "text", part.text, events)
        else:
            self._prose.end(events)
            whole = sendable(raw)
            self._items.append(whole)
            fields = msgspec.json.decode(whole)
            kind = next(iter(fields), "unknown") if isinstance(fields, dict) else "unknown"
            started = self._parts.start("opaque")
            events += (started, self._parts.end(started.index, Opaque(kind, whole)))

    def _plain(self, text: str) -> None:
        if not text:
            return
        last = self._items[-1] if self._items else None
        if isinstance(last, list):
            last.append(text)
        else:
            self._items.append([text])

    def _call(self, call: _Call, events: list[ProviderEvent]) -> None:
        call_id = clean(call.id or "") or self._mint()
        arguments = bytes(call.args).decode()
        started = self._parts.start("tool_call", call_id, clean(call.name))
        events.append(started)
        if arguments:
            events.append(ArgumentsDelta(started.index, arguments))
        events.append(self._parts.end(started.index, make_call(call_id, call.name, arguments)))

    def end(self) -> Sequence[ProviderEvent]:
        """The bytes are over; lawful only once a finish reason was seen.

        Raises:
            WireError: it was not.
        """
        if self.finished:
            return ()
        if not self.complete:
            raise WireError("the answer stopped before its end")
        self.finished = True
        events: list[ProviderEvent] = []
        self._prose.end(events)
        blocks = self._parts.blocks()
        stop, error = self._stop(blocks)
        items = tuple(
            item if isinstance(item, str) else dump({"text": paired("".join(item))}).decode()
            for item in self._items
        )
        native = self._target.native(items, self._response_id)
        events.append(Finished(make_message(blocks, stop, usage_of(self._usage), native, error)))
        return events

    def _stop(self, blocks: list[AssistantBlock]) -> tuple[StopReason, str]:
        if self._blocked and not self._reason:
            return "content_filter", "the service refused the prompt"
        stop = _STOPS.get(self._reason)
        if stop is None:
            return unknown_stop(self._reason, blocks)
        if stop in ("stop", "tool_calls"):
            return ("tool_calls" if has_calls(blocks) else "stop"), ""
        return stop, ""


def usage_of(raw: dict[str, Any]) -> Usage | None:
    """The figures without overlap: the prompt figure includes what was cached, thoughts stand apart."""
    if not raw:
        return None
    prompt = figure(raw.get("promptTokenCount"))
    cached = figure(raw.get("cachedContentTokenCount"))
    if prompt is not None:
        prompt = max(prompt + (figure(raw.get("toolUsePromptTokenCount")) or 0) - (cached or 0), 0)
    made = figure(raw.get("candidatesTokenCount"))
    thoughts = figure(raw.get("thoughtsTokenCount"))
    output = None if made is None and thoughts is None else (made or 0) + (thoughts or 0)
    return Usage(prompt, output, cached, None, thoughts)
