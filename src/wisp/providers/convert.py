"""A history made by any model, shown to one: what may pass, under which names, with every call answered.

Works on exchanges (an answer, the results of its calls, what was said next), so that an exchange that is
over never has to be looked at again.  Knows no wire format; the dialects spell what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from wisp.messages.codec import arguments_or_fault
from wisp.messages.content import AssistantBlock, Image, Opaque, ResultBlock, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, UserMessage
from wisp.providers.base import ModelInfo
from wisp.providers.wire import Target

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]+")
_SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")

NO_OUTPUT = "(no output)"
NO_RESULT = "No result: this call was interrupted before it ended; whether it had any effect is unknown."
IMAGE_LEFT_OUT = "[an image was here; this model does not take images]"
NOTICE = "[notice from the host, not from the user]\n"
GOING_ON = "(The conversation goes on from here.)"
BEGINS_ELSEWHERE = "the conversation does not begin with the user; a line was put before it"
ENDS_WITH_ANSWER = "the conversation ends with the model's own words; a line was put behind them"


class Exchange(msgspec.Struct):
    """One answer of the model with everything up to the next one."""

    assistant: AssistantMessage | None
    """None where nothing of it may be shown, or before the first answer."""
    own: bool
    """Made by the very model that will read it."""
    results: tuple[ToolResult, ...]
    """Exactly one for each call of `assistant`, in call order."""
    said: tuple[tuple[Text | Image, ...], ...]
    """User messages and notices, each as blocks that are not empty."""
    notes: list[str]
    """What had to be mended, a sentence each, for a person; what merely had to be spelled otherwise for
    this reader is no mending."""
    before: tuple[str, ...] = ()
    """Items of the very service that will read them, in place of all that went before; JSON texts."""

    @property
    def native_items(self) -> tuple[str, ...]:
        """The answer's own items, to be sent back as they came; none where it must be spelled anew."""
        answer = self.assistant
        if not self.own or answer is None or answer.native is None or answer.stop in ("error", "cancelled"):
            return ()
        return tuple(answer.native.items)


class CallIds:
    """Which ids were used in a conversation, and under which each call is shown."""

    def __init__(self, longest: int = 64) -> None:
        self._longest = longest
        self._taken: set[str] = set()
        self._fresh: list[str] = []

    def commit(self) -> None:
        """What was given out stays given out."""
        self._fresh.clear()

    def rollback(self) -> None:
        """Forget what was given out since the last commit."""
        self._taken.difference_update(self._fresh)
        self._fresh.clear()

    def wire(self, call_id: str) -> str:
        """An id for one call: its own where that is allowed and unused, else a stable other one."""
        name = call_id
        if len(name) > self._longest or not _SAFE_ID.fullmatch(name):
            name = f"call_{_digest(call_id)}"[: self._longest]
        number = 2
        base = name
        while name in self._taken:
            tail = f"_{number}"
            name = base[: self._longest - len(tail)] + tail
            number += 1
        self._taken.add(name)
        self._fresh.append(name)
        return name


def split(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Where the exchanges of a history begin and end."""
    starts = [place for place, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    if not starts or starts[0] != 0:
        starts.insert(0, 0)
    return [
        (start, starts[k + 1] if k + 1 < len(starts) else len(messages)) for k, start in enumerate(starts)
    ]


def exchange(group: Sequence[Message], target: Target, model: ModelInfo, ids: CallIds) -> Exchange:
    """One exchange, mended: never raises, whatever the history holds."""
    answer = group[0] if group and isinstance(group[0], AssistantMessage) else None
    results = [message for message in group if isinstance(message, ToolResult)]
    notes = _surrogates(group)
    before = tuple(item for message in group for item in _own_items(message, target))
    said = tuple(
        blocks
        for message in group
        if isinstance(message, UserMessage | Notice) and not _own_items(message, target)
        for blocks in (_said(message, model, notes),)
        if blocks
    )
    if answer is None:
        notes += [_orphan(result) for result in results]
        return Exchange(None, False, (), said, notes, before)
    own = target.owns(answer)
    answered = {result.call_id: result for result in reversed(results)}
    cut = answer.stop in ("error", "cancelled")
    blocks: list[AssistantBlock] = []
    kept: list[ToolResult] = []
    for block in answer.content:
        if isinstance(block, ToolCall):
            result = answered.pop(block.id, None)
            if result is None and cut:
                notes.append(f"{_named(block)} of an answer that was cut had not run and was left out")
                continue  # both halves go
            wire_id = ids.wire(block.id)
            if result is None:
                notes.append(f"{_named(block)} had no result and was closed as interrupted")
            if not _SAFE_ID.fullmatch(block.id):
                notes.append(f"the id of {_named(block)} is not one that services take; it got another")
            blocks.append(_call(block, wire_id, notes))
            kept.append(_result(result, wire_id, block.name, model, notes))
        elif own or (isinstance(block, Text) and block.text.strip()):
            blocks.append(block)
    notes += [_orphan(result) for result in answered.values()]
    notes += _misplaced(answer, group, results)
    if not any(_speaks(block) for block in blocks):
        notes.append("an answer without words and calls was left out")
        return Exchange(None, own, (), said, notes, before)
    assistant = msgspec.structs.replace(answer, content=tuple(blocks))
    return Exchange(assistant, own, tuple(kept), said, notes, before)


def safe_name(name: str) -> str:
    """A tool's name as every provider takes it: letters, digits, `_` and `-`, at most 64.

    One that has to be changed ends in a hash of what it was, so that two never become one and a name on the
    wire does not depend on which others are offered beside it.
    """
    if _SAFE_NAME.fullmatch(name):
        return name
    plain = _UNSAFE.sub("_", name)[:54]
    if not plain[:1].isalpha():
        plain = "_" + plain
    return f"{plain}_{_digest(name)[:8]}"


def _named(call: ToolCall) -> str:
    return f"the call {call.id[:40]!r} of {call.name[:60]}"


def _orphan(result: ToolResult) -> str:
    return f"the result {result.call_id[:40]!r} of {result.name[:60]} answers no call and was left out"


def _misplaced(answer: AssistantMessage, group: Sequence[Message], results: list[ToolResult]) -> list[str]:
    """What is said of results that stand where no service takes them."""
    order = {call.id: place for place, call in enumerate(answer.calls)}
    places = [order[result.call_id] for result in results if result.call_id in order]
    found = []
    if len(set(places)) < len(places):
        found.append("a call had more than one result; the first counts")
    elif places != sorted(places):
        found.append("the results of an answer were put into the order of its calls")
    if any(isinstance(message, ToolResult) for message in group[1 + len(results) :]):
        found.append("a result that came late was moved to its call")
    return found


def _surrogates(group: Sequence[Message]) -> list[str]:
    """Whether any text is not Unicode: half a pair, as Python makes of undecodable bytes."""
    for message in group:
        pieces = (
            [message.text]
            if isinstance(message, Notice)
            else [
                block.arguments if isinstance(block, ToolCall) else getattr(block, "text", "")
                for block in message.content
            ]
        )
        for text in pieces:
            if not text.isascii():
                try:
                    text.encode()
                except UnicodeEncodeError:
                    return ["half a surrogate pair, which is not Unicode, was replaced by U+FFFD"]
    return []


def _speaks(block: AssistantBlock) -> bool:
    """Whether a block alone makes a message worth sending; thinking alone does not."""
    if isinstance(block, Text):
        return bool(block.text.strip())
    return isinstance(block, ToolCall | Opaque)


def _call(call: ToolCall, wire_id: str, notes: list[str]) -> ToolCall:
    name = safe_name(call.name)
    text, fault = arguments_or_fault(call.arguments)
    if fault:
        notes.append(f"the arguments of {_named(call)} are not a JSON object and were left out")
        call = msgspec.structs.replace(call, arguments=text, fault=call.fault or fault)
    if wire_id == call.id and name == call.name:
        return call
    return msgspec.structs.replace(call, id=wire_id, name=name)


def _result(
    result: ToolResult | None, wire_id: str, name: str, model: ModelInfo, notes: list[str]
) -> ToolResult:
    if result is None:
        return ToolResult(wire_id, safe_name(name), (Text(NO_RESULT),), True, "interrupted")
    content: list[ResultBlock] = list(_seen(result.content, model, notes))
    if not content:
        content = [Text(NO_OUTPUT)]
    return ToolResult(wire_id, safe_name(name), tuple(content), result.is_error, result.code)


def _own_items(message: Message, target: Target) -> tuple[str, ...]:
    """What a compaction of the service that will read this made of what went before."""
    if isinstance(message, Notice) and message.native is not None and target.owns(message):
        return message.native.items
    return ()


def _said(message: UserMessage | Notice, model: ModelInfo, notes: list[str]) -> tuple[Text | Image, ...]:
    if isinstance(message, Notice):
        return (Text(NOTICE + message.text),) if message.text.strip() else ()
    shown = tuple(_seen(message.content, model, notes))
    if not shown:
        notes.append("an empty message of the user was left out")
    return shown


def _seen(blocks: Sequence[Text | Image], model: ModelInfo, notes: list[str]) -> list[Text | Image]:
    """What of `blocks` this model can be shown."""
    shown: list[Text | Image] = []
    for block in blocks:
        if isinstance(block, Image):
            if not model.images:
                notes.append(f"pictures were left out: {model.id} does not take them")
            shown.append(block if model.images else Text(IMAGE_LEFT_OUT))
        elif block.text.strip():
            shown.append(block)
    return shown


def _digest(text: str) -> str:
    import hashlib

    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


Encode = Callable[[Exchange, bool], list[bytes]]
"""An exchange as JSON fragments of the dialect's message array; the flag says that it is the last one."""


Pieces = list[bytes | bytearray]


class HistoryEncoder:
    """The message array of a growing conversation: what was encoded once is kept and appended to."""

    def __init__(self, encode: Encode, longest_id: int = 64) -> None:
        self._encode = encode
        self._longest_id = longest_id
        self._key: tuple[Target, ModelInfo] | None = None
        self._seen: list[Message] = []
        self._done = bytearray()
        self._notes: list[str] = []
        self._ids = CallIds(longest_id)
        self.notes: list[str] = []
        """What was mended in the history that was encoded last."""
        self.rewritten = False
        """Whether what was encoded last does not continue what was encoded before."""

    def encode(self, messages: Sequence[Message], target: Target, model: ModelInfo) -> Pieces:
        """The items of the array, comma-separated, without brackets, in pieces to be joined once."""
        done = len(self._seen)
        self.rewritten = False
        if self._key != (target, model) or list(messages[:done]) != self._seen:
            self.rewritten = self._key == (target, model)
            self._key = (target, model)
            self._seen = []
            self._done = bytearray()
            self._notes = []
            self._ids = CallIds(self._longest_id)
            done = 0
        rest = messages[done:]
        bounds = split(rest)
        for start, end in bounds[:-1]:
            shown = exchange(rest[start:end], target, model, self._ids)
            for fragment in self._encode(shown, False):
                self._done += b"," + fragment if self._done else fragment
            self._ids.commit()
            self._notes += shown.notes
            self._seen += rest[start:end]
        start, end = bounds[-1]
        shown = exchange(rest[start:end], target, model, self._ids)
        tail = b",".join(self._encode(shown, True))
        self._ids.rollback()
        self.notes = [*self._notes, *shown.notes]
        return [piece for piece in (self._done, b"," if self._done and tail else b"", tail) if piece]


def from_user(pieces: Pieces, opening: bytes, notes: list[str]) -> Pieces:
    """`pieces` with `opening` before them, unless they begin with the user as several services demand."""
    if pieces and pieces[0].startswith(b'{"role":"user"'):
        return pieces
    notes.append(BEGINS_ELSEWHERE)
    return [opening, b",", *pieces] if pieces else [opening]


def texts(blocks: Sequence[object]) -> str:
    """The words among `blocks`, one block a paragraph."""
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def images(blocks: Sequence[object]) -> list[Image]:
    """The pictures among `blocks`."""
    return [block for block in blocks if isinstance(block, Image)]


def signed(block: AssistantBlock) -> bool:
    """Whether a block may go back as it is: unsigned thinking may not."""
    return not isinstance(block, Thinking) or bool(block.signature or block.redacted)
