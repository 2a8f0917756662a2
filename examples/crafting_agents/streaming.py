"""Chapter 4: what a stream of events adds up to, and when it may be acted upon.

Owns the assembly of one answer and the rule that releases it as a message.  Does no I/O: events are handed in
as plain mappings, so a test can stop the stream behind any one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .core import Message, ToolCall, ToolFailure, ToolSpec
from .workbench import check_call

MAX_TEXT_CHARACTERS = 64_000
MAX_ARGUMENT_CHARACTERS = 16_000
MAX_PENDING_CALLS = 8

Event = Mapping[str, Any]


class ProviderFailure(Exception):
    """The model's answer could not be had or must not be used.  Ends the run; no call of it was executed."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


def take(mapping: Any, key: str, kind: type) -> Any:
    """Fetch a field that the format promises; its absence is the provider's fault, not a bug of ours."""
    value = mapping.get(key) if isinstance(mapping, Mapping) else None
    if not isinstance(value, kind):
        raise ProviderFailure("malformed", f"the stream lacks {key!r} as {kind.__name__}")
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise ProviderFailure("malformed", f"{key!r} holds half a surrogate pair")
    return value


# region: stream assembly
@dataclass
class PendingCall:
    """A call that is still arriving.  However complete it looks, it may not run."""

    call_id: str
    name: str
    arguments: str = ""


@dataclass
class StreamAssembly:
    """Collects the events of one answer.  The text is for watching, and the calls are for comparing later.

    An item that says it is done is ignored on purpose.  The answer around it can still fail, and an effect
    could not be taken back then; only the end of the whole answer carries authority.
    """

    report: Callable[[str], None]
    on_text: Callable[[str], object] = len
    """Is handed each piece of text as it comes; chapter 6 keeps them in case the rest never does."""
    response_id: str | None = None
    text_length: int = 0
    calls: dict[str, PendingCall] = field(default_factory=dict)
    final: Event | None = None

    def accept(self, event: Event) -> None:
        """Take in one event.

        Raises:
            ProviderFailure: The answer failed, is of a kind we refuse, or grew beyond a limit.
        """
        match take(event, "type", str):
            case "response.created":
                if self.response_id is not None:
                    raise ProviderFailure("malformed", "a second answer began in one stream")
                self.response_id = take(take(event, "response", Mapping), "id", str)
            case "response.output_item.added":
                self._add_item(take(event, "item", Mapping))
            case "response.output_text.delta":
                self._add_text(take(event, "delta", str))
            case "response.function_call_arguments.delta":
                self._add_arguments(take(event, "item_id", str), take(event, "delta", str))
            case "response.completed":
                self.final = take(event, "response", Mapping)
            case "response.incomplete":
                details = take(take(event, "response", Mapping), "incomplete_details", Mapping)
                cut = details.get("reason") == "max_output_tokens"
                raise ProviderFailure("output_limit" if cut else "incomplete", "the answer was cut short")
            case "response.failed" | "error":
                raise ProviderFailure("provider_error", "the provider reported a failure")

    def _add_item(self, item: Event) -> None:
        kind = take(item, "type", str)
        if kind == "function_call":
            if len(self.calls) == MAX_PENDING_CALLS:
                raise ProviderFailure("limit", f"more than {MAX_PENDING_CALLS} calls in one answer")
            item_id = take(item, "id", str)
            if item_id in self.calls:
                raise ProviderFailure("malformed", f"item {item_id!r} was started twice")
            self.calls[item_id] = PendingCall(take(item, "call_id", str), take(item, "name", str))
        elif kind != "message":
            raise ProviderFailure("unsupported", f"an item of type {kind!r}")

    def _add_text(self, delta: str) -> None:
        self.text_length += len(delta)
        if self.text_length > MAX_TEXT_CHARACTERS:
            raise ProviderFailure("limit", f"more than {MAX_TEXT_CHARACTERS} characters of text")
        self.on_text(delta)
        # repr keeps a model from sending control sequences to the terminal.
        self.report(f"text delta: {delta!r}")

    def _add_arguments(self, item_id: str, delta: str) -> None:
        pending = self.calls.get(item_id)
        if pending is None:
            raise ProviderFailure("malformed", f"arguments for {item_id!r}, which was never started")
        if len(pending.arguments) + len(delta) > MAX_ARGUMENT_CHARACTERS:
            raise ProviderFailure("limit", f"more than {MAX_ARGUMENT_CHARACTERS} characters of arguments")
        pending.arguments += delta
        self.report(f"arguments buffered: {pending.name} {len(pending.arguments)} characters")


# endregion: stream assembly


# region: release rule
def release(assembly: StreamAssembly, tools: Sequence[ToolSpec], used_ids: Collection[str] = ()) -> Message:
    """Turn a finished answer into a message, or refuse all of it.

    The closing event and the streamed pieces must tell one story.  If a single call is wrong the whole batch
    is, for the model chose the calls together, and the good half alone may be harmful.
    """
    final = assembly.final
    if final is None:
        raise ProviderFailure("disconnect", "the stream ended before the answer was complete")
    if take(final, "id", str) != assembly.response_id or take(final, "status", str) != "completed":
        raise ProviderFailure("malformed", "the closing event does not match the answer that was opened")
    text = ""
    calls: dict[str, ToolCall] = {}
    waiting = dict(assembly.calls)
    for item in take(final, "output", list):
        kind = take(item, "type", str)
        if kind == "message":
            text += message_text(item)
        elif kind == "function_call":
            call = release_call(item, waiting.pop(take(item, "id", str), None), tools)
            if call.id in calls or call.id in used_ids:
                raise ProviderFailure("malformed", f"call id {call.id!r} is used twice")
            calls[call.id] = call
        else:
            raise ProviderFailure("unsupported", f"an item of type {kind!r}")
    if waiting:
        raise ProviderFailure("malformed", "a call was streamed that the closing event does not have")
    if len(text) > MAX_TEXT_CHARACTERS:
        raise ProviderFailure("limit", f"more than {MAX_TEXT_CHARACTERS} characters of text")
    return Message("assistant", text, tuple(calls.values()))


def message_text(item: Event) -> str:
    """Join the text of one message item; a part of another kind (a refusal, say) is not text."""
    if take(item, "role", str) != "assistant" or item.get("status") not in (None, "completed"):
        raise ProviderFailure("malformed", "a message item is not a completed assistant message")
    parts = take(item, "content", list)
    if any(take(part, "type", str) != "output_text" for part in parts):
        raise ProviderFailure("unsupported", "a message part that is not text")
    return "".join(take(part, "text", str) for part in parts)


def release_call(item: Event, pending: PendingCall | None, tools: Sequence[ToolSpec]) -> ToolCall:
    """Compare a closing call with what was streamed, then decode and check its arguments."""
    stated = PendingCall(*(take(item, key, str) for key in ("call_id", "name", "arguments")))
    if stated != pending or item.get("status") not in (None, "completed"):
        raise ProviderFailure("malformed", f"call {stated.call_id!r} differs from what was streamed")
    try:
        arguments = json.loads(stated.arguments, object_pairs_hook=unique_names)
    except (ValueError, RecursionError) as error:
        raise ProviderFailure("malformed", f"the arguments of {stated.call_id!r} are not JSON") from error
    if not isinstance(arguments, dict):
        raise ProviderFailure("malformed", f"the arguments of {stated.call_id!r} are not an object")
    call = ToolCall(stated.call_id, stated.name, arguments)
    try:
        check_call(call, tools)
    except ToolFailure as failure:
        raise ProviderFailure("malformed", str(failure)) from failure
    return call


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse {"path": .., "path": ..}: two readers of it could disagree about which one counts."""
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


# endregion: release rule
