"""Claude Code's session files: one JSON object a line, messages as the Anthropic API has them.

The format is not documented and drifts, so reading is lenient and counts what it leaves out.
"""

from __future__ import annotations

import uuid
from typing import Any

from wisp.exchange import foreign
from wisp.exchange.transcript import Imported, Losses, NotThatFormat, Said, Transcript, arguments_of
from wisp.messages.codec import ascii_json, clean
from wisp.messages.content import AssistantBlock, Image, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, UserMessage
from wisp.messages.usage import Usage

_SPACE = uuid.UUID("8f6f2a4e-63d0-4a0c-9a55-6f1f3f0b5a11")
"""What the ids of exported lines are derived in, so that an export is the same each time."""
_STOPS = {"tool_calls": "tool_use", "length": "max_tokens", "refusal": "refusal", "pause": "pause_turn"}


# -- writing ----------------------------------------------------------------------------------------------


def claude_lines(transcript: Transcript) -> bytes:
    """The conversation as Claude Code would have kept it."""
    session = str(uuid.uuid5(_SPACE, transcript.session_id))
    lines: list[bytes] = []
    parent: str | None = None
    for number, one in enumerate(transcript.said):
        own = str(uuid.uuid5(_SPACE, f"{transcript.session_id}/{number}"))
        kind, message, more = _line(one.message, own, transcript.model)
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": transcript.cwd,
            "sessionId": session,
            "version": transcript.version,
            "gitBranch": "",
            "type": kind,
            "message": message,
            "uuid": own,
            "timestamp": one.at,
            **more,
        }
        lines.append(ascii_json(line) + b"\n")
        parent = own
    return b"".join(lines)


def _line(message: Message, own: str, model: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    if isinstance(message, AssistantMessage):
        usage = message.usage or Usage()
        return (
            "assistant",
            {
                "id": f"msg_{message.id or own}",
                "type": "message",
                "role": "assistant",
                "model": message.native.model if message.native is not None else model or "unknown",
                "content": [block for part in message.content if (block := _block(part))],
                "stop_reason": _STOPS.get(message.stop, "end_turn"),
                "stop_sequence": None,
                "usage": {
                    "input_tokens": usage.input_tokens or 0,
                    "cache_creation_input_tokens": usage.cache_write_tokens or 0,
                    "cache_read_input_tokens": usage.cache_read_tokens or 0,
                    "output_tokens": usage.output_tokens or 0,
                },
            },
            {"requestId": f"req_{message.id or own}"},
        )
    if isinstance(message, ToolResult):
        block = {
            "type": "tool_result",
            "tool_use_id": message.call_id,
            "content": [_content(part) for part in message.content],
            "is_error": message.is_error,
        }
        return "user", {"role": "user", "content": [block]}, {"toolUseResult": message.text}
    if isinstance(message, UserMessage):
        only_text = all(isinstance(part, Text) for part in message.content)
        content: Any = message.text if only_text else [_content(part) for part in message.content]
        return "user", {"role": "user", "content": content}, {}
    return "user", {"role": "user", "content": message.text}, {"isMeta": True}


def _block(part: AssistantBlock) -> dict[str, Any] | None:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text} if part.text else None
    if isinstance(part, ToolCall):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_of(part)}
    if isinstance(part, Thinking) and part.text:
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return None


def _content(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}


# -- reading ----------------------------------------------------------------------------------------------


def read_claude(data: bytes) -> Imported:
    """What a file of Claude Code holds, along the branch that was written last.

    Raises:
        NotThatFormat: there is no message of that form in it.
    """
    lost, found = Losses(), []
    for row in foreign.rows(data, lost):
        if row.get("type") in ("user", "assistant") and isinstance(row.get("message"), dict):
            found.append(row)
        elif row.get("type") == "summary":
            lost["summaries"] += 1
        else:
            lost["lines of other kinds"] += 1
    if not any("uuid" in row or "sessionId" in row for row in found):
        raise NotThatFormat("no line is a message of Claude Code")
    way = _way(found, lost)
    first = next((row for row in way if row.get("cwd")), {})
    said = _messages(way, lost)
    return Imported(
        "Claude Code",
        str(found[0].get("sessionId", "")),
        str(first.get("cwd", "")),
        "",
        tuple(said),
        dict(lost),
    )


def _way(rows: list[dict[str, Any]], lost: Losses) -> list[dict[str, Any]]:
    """The rows from the beginning to the last one; those of subagents and of other branches are left out."""
    main = [row for row in rows if not row.get("isSidechain")]
    if len(main) < len(rows):
        lost["messages of subagents"] += len(rows) - len(main)
    by_id = {str(row["uuid"]): row for row in main if row.get("uuid")}
    if not main or any("parentUuid" not in row for row in main):
        return main
    way: list[dict[str, Any]] = []
    at: dict[str, Any] | None = main[-1]
    seen: set[int] = set()
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        way.append(at)
        above = at.get("parentUuid")
        at = by_id.get(str(above)) if above else None
        if above and at is None:  # its parent is a line of another kind: what was written before it
            place = main.index(way[-1])
            at = main[place - 1] if place else None
    if len(way) < len(main):
        lost["messages of other branches"] += len(main) - len(way)
    return way[::-1]


def _messages(rows: list[dict[str, Any]], lost: Losses) -> list[Said]:
    said: list[Said] = []
    names: dict[str, str] = {}
    last_id = ""
    for row in rows:
        message, at = row["message"], str(row.get("timestamp") or "")
        if row["type"] == "assistant":
            made = _assistant(message, lost, names)
            same = message.get("id") and message["id"] == last_id and said
            if same and isinstance(before := said[-1].message, AssistantMessage):
                # One answer may be kept as several lines, a block each.
                joined = AssistantMessage((*before.content, *made.content), stop=made.stop, usage=made.usage)
                said[-1] = Said(joined, said[-1].at)
            elif made.content:
                said.append(Said(made, at))
            last_id = str(message.get("id") or "")
        else:
            said += [Said(one, at) for one in _user(message, bool(row.get("isMeta")), lost, names)]
            last_id = ""
    return said


def _assistant(message: dict[str, Any], lost: Losses, names: dict[str, str]) -> AssistantMessage:
    blocks: list[AssistantBlock] = []
    content = message.get("content")
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else foreign.dicts(content):
        kind = part.get("type")
        if kind == "text":
            blocks.append(Text(foreign.text(part.get("text"))))
        elif kind == "thinking":
            blocks.append(Thinking(foreign.text(part.get("thinking"))))
        elif kind == "tool_use" and isinstance(part.get("input"), dict):
            call = ToolCall(str(part.get("id")), str(part.get("name")), ascii_json(part["input"]).decode())
            names[call.id] = call.name
            blocks.append(call)
        else:
            lost[f"blocks of kind {kind or 'unknown'}"] += 1
    calls = any(isinstance(block, ToolCall) for block in blocks)
    given = message.get("usage")
    usage = given if isinstance(given, dict) else {}
    return AssistantMessage(
        tuple(blocks),
        stop="tool_calls" if calls else "stop",
        usage=Usage(
            foreign.count(usage.get("input_tokens")),
            foreign.count(usage.get("output_tokens")),
            foreign.count(usage.get("cache_read_input_tokens")),
            foreign.count(usage.get("cache_creation_input_tokens")),
        ),
    )


def _user(message: dict[str, Any], meta: bool, lost: Losses, names: dict[str, str]) -> list[Message]:
    content = message.get("content")
    if isinstance(content, str):
        text = clean(content)
        return [Notice(text)] if meta else [UserMessage((Text(text),))]
    found: list[Message] = []
    words: list[Text | Image] = []
    for part in foreign.dicts(content):
        kind = part.get("type")
        if kind == "tool_result":
            call = str(part.get("tool_use_id"))
            blocks = foreign.blocks(part.get("content"), lost)
            found.append(ToolResult(call, names.get(call, "unknown"), blocks, part.get("is_error") is True))
        else:
            words += foreign.blocks([part], lost)
    return [*found, UserMessage(tuple(words))] if words else found
