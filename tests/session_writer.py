"""Stored sessions of any shape, written record by record."""

from __future__ import annotations

from pathlib import Path

from wisp.messages.content import Text, ToolCall
from wisp.messages.message import AssistantMessage, Message, ToolResult, UserMessage
from wisp.messages.usage import Usage
from wisp.session.codec import encode
from wisp.session.records import Known, LeafRecord, MessageRecord, Record, SessionHeader


class Writer:
    """Makes the records of a long conversation: prompts, calls, results, and what the test adds."""

    def __init__(self, pad: int = 300) -> None:
        self.records: list[Record] = []
        self.leaf = ""
        self.pad = pad
        self.add(SessionHeader("long", "/w"))

    def add(self, body: Known, record_id: str = "") -> str:
        number = len(self.records) + 1
        record_id = record_id or f"r{number:06}"
        self.records.append(Record(number, record_id, self.leaf, "2026-01-01T00:00:00.000Z", body))
        if isinstance(body, MessageRecord):
            self.leaf = record_id
        if isinstance(body, LeafRecord):
            self.leaf = body.target
        return record_id

    def say(self, message: Message) -> str:
        return self.add(MessageRecord(message, 0.001), message.id)

    def turn(self, name: str) -> str:
        """A prompt, a call, its result and an answer; returns the prompt's id."""
        first = self.say(UserMessage((Text(f"prompt {name}"),), f"u{name}"))
        call = ToolCall(f"c{name}", "edit", f'{{"path": "f{name}.py"}}')
        self.say(AssistantMessage((call,), f"a{name}", "tool_calls", Usage(10, 5, 0, 0, 0)))
        self.say(ToolResult(f"c{name}", "edit", (Text("y" * self.pad),), id=f"t{name}"))
        self.say(AssistantMessage((Text("done"),), f"b{name}", "stop", Usage(20, 5, 0, 0, 0)))
        return first

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(b"".join(map(encode, self.records)))
        path.chmod(0o600)
        return path
