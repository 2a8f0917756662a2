"""Chapter 9: one engine behind a narrow door: commands go in, numbered events come out.

Owns the event log and the view that is folded from it; renderings.py draws both.  A front end may lose its
view at any time and fold it again; it decides nothing.  Not promised: there is one conversation, and the log
lives as long as the process (chapter 7 shows what it takes to keep one).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .core import Message, Provider, ToolCall, ToolFailure, ToolSpec
from .person import Control
from .steering import Conversation, Execute, converse

NEEDS_ANSWER = frozenset({"edit", "test"})


# region: events
@dataclass(frozen=True)
class Event:
    """Something that has happened.  Numbers have no gaps, so a front end knows when it missed one."""

    seq: int
    kind: str
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Command:
    """Something a person wants.  Whether it happens is the host's decision, told by events."""

    kind: str
    body: Mapping[str, Any]


class Refused(Exception):
    """A command that makes no sense now; nothing was changed by it."""


# endregion: events


# region: view
def first_line(text: str) -> str:
    """A result in one line: the rest is in the log."""
    return text.partition("\n")[0]


@dataclass(frozen=True)
class View:
    """All that a front end needs to draw.  It is made of events alone, and may be thrown away."""

    seq: int = 0
    state: str = "idle"
    lines: tuple[str, ...] = ()
    draft: str = ""
    question: str = ""


def apply(view: View, event: Event) -> View:
    """The next view.  Pure: the same events give the same view, live, late, or on another machine.

    A kind that is not known here is one that a newer engine has.  It counts, and changes nothing else.
    """
    body, seen = event.body, replace(view, seq=event.seq)
    match event.kind:
        case "user":
            return replace(seen, state="working", lines=(*view.lines, f"> {body['text']}"))
        case "text":
            return replace(seen, draft=view.draft + body["piece"])
        case "assistant":
            return replace(seen, draft="", lines=(*view.lines, body["text"]))
        case "asked":
            return replace(seen, state="asking", question=f"{body['name']} ({body['call']})")
        case "answered":
            return replace(seen, state="working", question="")
        case "call":
            return replace(seen, lines=(*view.lines, f"* {body['name']}"))
        case "result":
            return replace(seen, lines=(*view.lines, f"  {first_line(body['text'])}"))
        case "ended":
            return replace(
                seen, state="idle", draft="", question="", lines=(*view.lines, f"({body['ending']})")
            )
        case _:
            return seen


def fold_view(events: Iterable[Event], view: View | None = None) -> View:
    """Fold many events, from nothing or on top of a snapshot."""
    view = view or View()
    for event in events:
        view = apply(view, event)
    return view


# endregion: view


# region: host
def ignore(line: str) -> None:
    """The loop's own trace is for reading along; here the events take its place."""


class HostConversation(Conversation):
    """Chapter 6's conversation, which tells the log about each row."""

    def __init__(self, emit: Callable[..., None]) -> None:
        super().__init__()
        self._emit = emit

    def add(self, row: Message) -> None:
        """Keep the row, then say so: nobody hears of what is not kept."""
        super().add(row)
        if row.role == "tool":
            self._emit("result", call=row.tool_call_id, text=row.content)
        else:
            self._emit(row.role, text=row.content)

    def begin(self, call: ToolCall) -> None:
        """Say that a call runs now."""
        self._emit("call", call=call.id, name=call.name, arguments=dict(call.arguments))


class Host:
    """The engine: one conversation, one log, any number of subscribers."""

    def __init__(
        self, provider: Callable[[Control], Provider], tools: Iterable[ToolSpec], execute: Execute
    ) -> None:
        """Args: provider is made with the control, so that it can hand over text as it arrives."""
        self.log: list[Event] = []
        self._grown = asyncio.Condition()
        self._wakers: set[asyncio.Task[None]] = set()
        self._control = Control()
        self._conversation = HostConversation(self.emit)
        self._provider = provider(self._control)
        self._tools = tuple(tools)
        self._execute = execute
        self._run: asyncio.Task[None] | None = None
        self._questions: dict[str, asyncio.Future[bool]] = {}

    def emit(self, kind: str, **body: Any) -> None:
        """Append to the log and wake whoever follows it."""
        self.log.append(Event(len(self.log) + 1, kind, body))
        waker = asyncio.ensure_future(self._wake())
        self._wakers.add(waker)
        waker.add_done_callback(self._wakers.discard)

    async def _wake(self) -> None:
        async with self._grown:
            self._grown.notify_all()

    async def follow(self, after: int = 0) -> AsyncIterator[Event]:
        """Every event behind a number, those there are and those to come.  A slow reader holds up nobody."""
        while True:
            while after < len(self.log):
                after += 1
                yield self.log[after - 1]
            async with self._grown:
                if after == len(self.log):
                    await self._grown.wait()

    def do(self, command: Command) -> None:
        """Take a command.

        Raises:
            Refused: It does not fit the state, or is not known.
        """
        running = self._run is not None and not self._run.done()
        match command.kind:
            case "say" if not running:
                self._conversation.add(Message("user", str(command.body["text"])))
                self._run = asyncio.ensure_future(self._work())
            case "say":
                self._control.queues.put("steering", str(command.body["text"]))
            case "interrupt" if running:
                self._control.interrupt()
            case "answer" if command.body.get("call") in self._questions:
                # Only True agrees, as in chapter 5, and a question is answered once.
                self._questions.pop(command.body["call"]).set_result(command.body.get("allow") is True)
            case _:
                raise Refused(f"{command.kind} is not possible now")

    async def _work(self) -> None:
        self._control.resume()
        ending = await converse(
            self._conversation, self._provider, self._tools, self._ask_first, self._control, report=ignore
        )
        self.emit("ended", ending=ending)

    async def _ask_first(self, call: ToolCall) -> str:
        """Chapter 5's approval: a question in the log, and an answer from whichever front end is quickest."""
        if call.name in NEEDS_ANSWER:
            answer = self._questions[call.id] = asyncio.get_running_loop().create_future()
            self.emit("asked", call=call.id, name=call.name, arguments=dict(call.arguments))
            allowed = await answer
            self.emit("answered", call=call.id, allow=allowed)
            if not allowed:
                raise ToolFailure(f"approval_denied: {call.name} was not carried out")
        return await self._execute(call)


# endregion: host
