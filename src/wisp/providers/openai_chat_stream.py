"""OpenAI Chat Completions: the event decoder of `providers.openai_chat`.

Pure: events in, provider events out, no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wisp.messages.codec import clean
from wisp.messages.message import StopReason
from wisp.messages.usage import Usage
from wisp.providers.errors import WireError
from wisp.providers.events import (
    ArgumentsDelta,
    Finished,
    PartStarted,
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
    stream_error,
    unknown_stop,
)

# The stream.  Only the fields that are looked at; whatever else comes is skipped undecoded.


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _CallDelta(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: Any = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None


class _Chunk(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


_CHUNK = msgspec.json.Decoder(_Chunk | None)

_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}


class _OpenCall(msgspec.Struct):
    """A call whose fragments are coming in."""

    id: str = ""
    name: str = ""
    part: int = -1  # not announced before its name is known
    held: list[str] = []


class ChatDecoder:
    """Decodes one streamed response."""

    def __init__(self, target: Target, mint: Callable[[], str]) -> None:
        self.complete = False
        self.finished = False
        self.ignored = 0
        self._target = target
        self._mint = mint
        self._parts = Parts()
        self._prose = Prose(self._parts)
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._begun = False
        self._response_id = ""
        self._reason = ""
        self._refused = False
        self._usage: dict[str, Any] | None = None
        self._details: list[Any] = []
        self._reasoning_name = ""

    def feed(self, name: str, data: bytes) -> Sequence[ProviderEvent]:
        """Take one chunk.

        Raises:
            ProviderError: an error the server put into the stream, or bytes that are not the protocol.
        """
        if self.finished:
            return ()
        if data.strip() == b"[DONE]":
            return self.end() if self.complete or not self._begun else ()
        try:
            chunk = load(data, _CHUNK)
        except msgspec.ValidationError:
            if name not in ("", "message"):
                self.ignored += 1
                return ()
            raise WireError("a chunk of the answer does not have the shape of a chat completion") from None
        if chunk is None:
            self.ignored += 1
            return ()
        if chunk.error:
            raise stream_error(chunk.error)
        return self._chunk(chunk)

    def _chunk(self, chunk: _Chunk) -> list[ProviderEvent]:
        events: list[ProviderEvent] = []
        if chunk.usage is not None:
            self._usage = chunk.usage
        choice = chunk.choices[0] if chunk.choices else None
        if choice is None:
            if chunk.usage is None:
                self.ignored += 1
            return events
        if not self._begun:
            self._begun = True
            self._response_id = clean(chunk.id or "")
            events.append(Started(self._response_id, clean(chunk.model or "")))
        if choice.usage is not None:
            self._usage = choice.usage
        delta = choice.delta if choice.delta is not None else choice.message
        if delta is not None and not self.complete:
            self._delta(delta, events)
        if choice.finish_reason and not self.complete:
            self._reason = choice.finish_reason
            if self._reason == "error":
                raise stream_error({"code": "server_error", "message": "the service failed in mid-answer"})
            self.complete = True
        return events

    def _delta(self, delta: _Delta, events: list[ProviderEvent]) -> None:
        content = delta.content
        if content:
            if not isinstance(content, str):
                content = _flat(content)
            self._prose.say("text", content, events)
        thought = delta.reasoning_content or delta.reasoning
        if thought:
            self._reasoning_name = "reasoning_content" if delta.reasoning_content else "reasoning"
            self._prose.say("thinking", thought, events)
        if delta.reasoning_details:
            self._details += delta.reasoning_details
        if delta.refusal:
            self._refused = True
            self._prose.say("text", delta.refusal, events)
        for fragment in delta.tool_calls or ():
            self._fragment(fragment, events)

    def _fragment(self, fragment: _CallDelta, events: list[ProviderEvent]) -> None:
        function = fragment.function or _Function()
        call = self._call_of(fragment, function)
        if function.name and not call.name:
            call.name = function.name
        if call.part < 0 and call.name:
            self._prose.end(events)
            events.append(self._announce(call))
            if call.held:
                self._grow(call, "".join(call.held), events)
        text = function.arguments
        if isinstance(text, dict):
            text = dump(text).decode()
        if text and isinstance(text, str):
            if call.part < 0:
                call.held.append(text)
            else:
                self._grow(call, text, events)

    def _call_of(self, fragment: _CallDelta, function: _Function) -> _OpenCall:
        """Which call a fragment belongs to: by index; where servers leave that out, by id, else the last."""
        known = None
        if fragment.index is not None:
            known = self._by_index.get(fragment.index)
        elif fragment.id:
            known = next((call for call in self._calls if call.id == fragment.id), None)
        elif self._calls and not function.name:
            known = self._calls[-1]
        if known is not None and fragment.id and known.id and fragment.id != known.id and function.name:
            known = None  # servers that number every call 0
        if known is None:
            known = _OpenCall(fragment.id or "", held=[])
            self._calls.append(known)
        if fragment.index is not None:
            self._by_index[fragment.index] = known
        if fragment.id and not known.id and known.part < 0:
            known.id = fragment.id
        return known

    def _announce(self, call: _OpenCall) -> PartStarted:
        call.id = clean(call.id) or self._mint()
        started = self._parts.start("tool_call", call.id, clean(call.name))
        call.part = started.index
        return started

    def _grow(self, call: _OpenCall, text: str, events: list[ProviderEvent]) -> None:
        if text := self._parts.grow(call.part, text):
            events.append(ArgumentsDelta(call.part, text))

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
        for call in self._calls:
            if call.part < 0:
                events.append(self._announce(call))
                self._parts.grow(call.part, "".join(call.held))
            block = make_call(call.id, call.name, self._parts.joined(call.part))
            events.append(self._parts.end(call.part, block))
        blocks = self._parts.blocks()
        stop, error = self._stop(blocks)
        native = self._target.native(self._extras(), self._response_id)
        events.append(Finished(make_message(blocks, stop, usage_of(self._usage), native, error)))
        return events

    def _stop(self, blocks: list[Any]) -> tuple[StopReason, str]:
        stop = _STOPS.get(self._reason.lower())
        if stop is None:
            return unknown_stop(self._reason, blocks)
        if stop in ("stop", "tool_calls"):
            if self._refused:
                return "refusal", ""
            return ("tool_calls" if has_calls(blocks) else "stop"), ""  # several servers say stop for both
        return stop, ""

    def _extras(self) -> tuple[str, ...]:
        """What vendors add to the message and may want back."""
        if self._details:
            return (dump({"reasoning_details": self._details}).decode(),)
        return ()


def _flat(content: Any) -> str:
    """Text of a content that is a list of parts, as one vendor streams it."""
    parts = content if isinstance(content, list) else [content]
    return "".join(
        part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def usage_of(raw: dict[str, Any] | None) -> Usage | None:
    """Chat's figures without overlap: the prompt figure includes what was cached."""
    if not raw:
        return None
    details = raw.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = figure(details.get("cached_tokens"), raw.get("prompt_cache_hit_tokens"))
    written = figure(details.get("cache_write_tokens"))
    prompt = figure(raw.get("prompt_tokens"))
    made = raw.get("completion_tokens_details")
    reasoning = figure(made.get("reasoning_tokens")) if isinstance(made, dict) else None
    if prompt is not None:
        prompt = max(prompt - (cached or 0) - (written or 0), 0)
    return Usage(prompt, figure(raw.get("completion_tokens")), cached, written, reasoning)
