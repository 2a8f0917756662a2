"""What the dialects share: the shape of a request and of a decoder, JSON that always encodes.

Pure values and functions.  Knows no dialect and no network.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import msgspec

from wisp.messages.codec import arguments_or_fault, clean, unique
from wisp.messages.content import AssistantBlock, ToolCall
from wisp.messages.message import AssistantMessage, Native, Notice, StopReason
from wisp.messages.usage import Usage
from wisp.providers.assemble import with_unique_calls
from wisp.providers.base import ModelRequest
from wisp.providers.errors import ProviderError, WireError
from wisp.providers.events import ProviderEvent

T = TypeVar("T")


class WireRequest(msgspec.Struct, frozen=True):
    """One HTTP request without its host and credentials."""

    path: str
    """Appended to the endpoint's base URL; begins with a slash."""
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    """What was mended or left out on the way, a sentence each, for a person."""
    names: dict[str, str] = {}
    """From a tool's name on the wire to its own, where they differ."""
    rewritten: bool = False
    """The history does not continue that of the request before."""
    cursor: str = ""
    """The stored response that this request continues, where it does not hold the whole conversation."""
    document: Callable[[bytes], AssistantMessage] | None = None
    """Reads the answer, where it is one JSON document and no stream; raises `WireError`."""


class Target(msgspec.Struct, frozen=True):
    """Who will read a request: decides what of a history may be shown unchanged."""

    api: str
    provider: str
    model: str

    def owns(self, message: AssistantMessage | Notice) -> bool:
        """Whether `message` was made by this very model behind this very provider."""
        native = message.native
        return (
            native is not None
            and native.api == self.api
            and native.provider == self.provider
            and native.model == self.model
        )

    def native(self, items: tuple[str, ...] = (), response_id: str = "") -> Native:
        """The record of what this target said."""
        return Native(self.api, self.provider, self.model, items, response_id)


class Builder(Protocol):
    """Turns requests of one conversation into bytes; keeps what it encoded, so that the next costs only
    what is new."""

    def build(self, request: ModelRequest, *, whole: bool = False) -> WireRequest:
        """The request as bytes; never raises for anything a history may hold.

        `whole` asks for the whole conversation, also where the service may store it.
        """
        ...


class Decoder(Protocol):
    """Turns the SSE events of one response into provider events."""

    complete: bool
    """The answer has ended by the provider's own word; the end of the bytes is lawful from here on."""
    finished: bool
    """`Finished` was given out."""
    ignored: int
    """Events that were not understood and skipped."""

    def feed(self, name: str, data: bytes) -> Sequence[ProviderEvent]:
        """Take one SSE event.

        Raises:
            ProviderError: what the server reported, or a breach of the protocol.
        """
        ...

    def end(self) -> Sequence[ProviderEvent]:
        """The bytes are over.

        Raises:
            WireError: the answer was not complete.
        """
        ...


class Dialect(Protocol):
    """What one wire dialect's module offers."""

    def builder(self, provider: str, *, store: bool = False) -> Builder:
        """A builder for one conversation with the provider of that name.

        `store` says that the user allows the service to keep what was said; without it nothing is kept.
        """
        ...

    def decoder(self, target: Target, mint: Callable[[], str]) -> Decoder:
        """A decoder for one response; `mint` makes ids for calls that came without one."""
        ...

    def auth_headers(self, key: str) -> tuple[tuple[str, str], ...]:
        """The headers that carry the key; also those the dialect always wants."""
        ...


def allowed_effort(request: ModelRequest) -> str:
    """The effort to ask for: what was chosen, unless the model is known not to have that level."""
    known = request.model.efforts
    return request.effort if not known or request.effort in known else ""


def dump(value: Any) -> bytes:
    """`value` as compact JSON; lone surrogates become U+FFFD instead of an error."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(scrub(value))


def scrub(value: Any) -> Any:
    """`value` with every string clean, however deep."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {scrub(name): scrub(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(item) for item in value]
    return value


def raw_object(arguments: str) -> msgspec.Raw:
    """A call's argument text as JSON in place; `{}` where a hostile history holds something else."""
    text, _ = arguments_or_fault(arguments)
    return msgspec.Raw(text.encode())


def raw_json(text: str) -> msgspec.Raw | None:
    """`text` as JSON in place; None where it is not JSON."""
    try:
        encoded = text.encode()
        msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return msgspec.Raw(encoded)


def sendable(raw: bytes | msgspec.Raw) -> str:
    """JSON that came as part of an event, as it may be kept: as it is, but for halves of surrogate pairs."""
    text = bytes(raw).decode()
    if "\\u" not in text:
        return text
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        import json

        with suppress(ValueError, RecursionError):
            return dump(json.loads(text)).decode()
    return text


_SAYS = frozenset(
    (
        "content",
        "text",
        "thinking",
        "delta",
        "reasoning",
        "reasoning_content",
        "refusal",
        "partial_json",
        "arguments",
    )
)
"""Names under which events carry pieces of a text, which may be cut between the halves of a character."""


def load(data: bytes, decoder: msgspec.json.Decoder[T], raw: frozenset[str] = frozenset()) -> T:
    """Decode one event's data; half surrogates and invalid UTF-8 are mended, anything else is an error.

    Only in a piece of text does a half stay what it is: `Parts.grow` waits for the other one.

    Args:
        raw: the names whose values, or whose items, the decoder leaves undecoded.

    Raises:
        msgspec.ValidationError: JSON, but not of the expected shape.
        WireError: not JSON.
    """
    try:
        if not data.isascii():
            data.decode()  # what is kept raw is not looked at by the decoder
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    import json  # the forgiving way, for what the quick one refuses

    try:
        value = json.loads(data.decode("utf-8", "replace"), object_pairs_hook=unique)
        made: T = msgspec.convert(_mended(value, "", raw), decoder.type)
        return made
    except msgspec.ValidationError:
        raise
    except (ValueError, RecursionError):
        excerpt = data[:80].decode("utf-8", "replace")
        raise WireError(f"an event of the answer is not JSON: {excerpt!r}") from None


def _mended(value: Any, name: str, raw: frozenset[str]) -> Any:
    if name in raw:
        return [_raw(item) for item in value] if isinstance(value, list) else _raw(value)
    if isinstance(value, str):
        return value if name in _SAYS else clean(value)
    if isinstance(value, dict):
        return {clean(key): _mended(item, key, raw) for key, item in value.items()}
    if isinstance(value, list):
        return [_mended(item, name, raw) for item in value]
    return value


def _raw(value: Any) -> msgspec.Raw:
    import json

    return msgspec.Raw(json.dumps(value).encode())  # ASCII, halves and all


class _Kind(msgspec.Struct):
    type: str = ""


_KIND = msgspec.json.Decoder(_Kind)


def refuse_known(data: bytes, known: Container[str]) -> None:
    """An event of a shape nobody expects is passed over, unless its `type` is one that is used.

    Raises:
        WireError: it is.
    """
    try:
        kind = _KIND.decode(data).type
    except msgspec.DecodeError:
        return
    if kind in known:
        raise WireError(f"an event of the answer has the wrong shape: {kind}")


def make_call(call_id: str, name: str, arguments: str | None) -> ToolCall:
    """A complete call, its arguments strictly checked."""
    text, fault = arguments_or_fault(arguments)
    if not name:
        fault = fault or "the call names no tool"
        text = "{}"
    return ToolCall(clean(call_id), clean(name), text, fault)


def make_message(
    blocks: list[AssistantBlock], stop: StopReason, usage: Usage | None, native: Native, error: str = ""
) -> AssistantMessage:
    """The whole message; duplicate call ids are faults of both."""
    return AssistantMessage(with_unique_calls(blocks), stop=stop, usage=usage, native=native, error=error)


def has_calls(blocks: list[AssistantBlock]) -> bool:
    """Whether any block is a call."""
    return any(isinstance(block, ToolCall) for block in blocks)


def unknown_stop(reason: str, blocks: list[AssistantBlock]) -> tuple[StopReason, str]:
    """An ending we do not know: plain words count, calls do not."""
    if has_calls(blocks):
        return (
            "error",
            f"the answer ended for an unknown reason ({clean(reason)[:60]!r}); its calls do not run",
        )
    return "stop", ""


def figure(*values: Any) -> int | None:
    """The first of `values` that is a count."""
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def word(value: Any) -> str:
    """`value` where it is a text, clean; else nothing."""
    return clean(value) if isinstance(value, str) else ""


def stream_error(error: Any) -> ProviderError:
    """The error object a server put into the middle of an answer, as the error it means."""
    from wisp.providers.faults import error_fields, error_in_stream  # only a run with errors pays for it

    name, message, status = error_fields(error)
    return error_in_stream(name, message, status)
