"""pi's session files: a header line, then entries with `id` and `parentId`, a tree in one file."""

from __future__ import annotations

from typing import Any

from wisp.exchange import foreign
from wisp.exchange.transcript import Imported, Losses, NotThatFormat, Said
from wisp.messages.codec import ascii_json, clean
from wisp.messages.content import AssistantBlock, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Message, ToolResult, UserMessage
from wisp.messages.usage import Usage

_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


def read_pi(data: bytes) -> Imported:
    """What a session of pi holds, along the branch that was written last.

    Raises:
        NotThatFormat: it does not begin with the header of one.
    """
    lost, entries = Losses(), []
    header: dict[str, Any] = {}
    for row in foreign.rows(data, lost):
        if row.get("type") == "session" and not header:
            header = row
        else:
            entries.append(row)
    if "version" not in header and "id" not in header:
        raise NotThatFormat("it does not begin with the header of a pi session")
    title = ""
    said: list[Said] = []
    for row in _way(entries, lost):
        message = row.get("message")
        if row.get("type") == "message" and isinstance(message, dict):
            said += [Said(one, str(row.get("timestamp") or "")) for one in _message(message, lost)]
        elif row.get("type") == "session_info":
            title = str(row.get("name") or title)
        elif row.get("type") not in ("model_change", "thinking_level_change", "label"):
            lost[f"entries of kind {row.get('type')}"] += 1
    return Imported(
        "pi", str(header.get("id", "")), str(header.get("cwd", "") or ""), title, tuple(said), dict(lost)
    )


def _way(rows: list[dict[str, Any]], lost: Losses) -> list[dict[str, Any]]:
    """From the beginning to the entry that was written last; older files have no ids and no branches."""
    by_id = {str(row["id"]): row for row in rows if row.get("id")}
    if len(by_id) < len(rows) or not rows:
        return rows
    way: list[dict[str, Any]] = []
    at: dict[str, Any] | None = rows[-1]
    while at is not None and len(way) <= len(rows):
        way.append(at)
        at = by_id.get(str(at.get("parentId")))
    others = [row for row in rows if row.get("type") == "message" and row not in way]
    if others:
        lost["messages of other branches"] += len(others)
    return way[::-1]


def _message(message: dict[str, Any], lost: Losses) -> list[Message]:
    role, content = message.get("role"), message.get("content")
    if role == "user":
        return [UserMessage(foreign.blocks(content, lost))]
    if role == "toolResult":
        failed = message.get("isError") is True
        call, name = str(message.get("toolCallId")), str(message.get("toolName", "unknown"))
        return [ToolResult(call, name, foreign.blocks(content, lost), failed)]
    if role == "assistant":
        return [_assistant(message, lost)]
    if role == "bashExecution":
        text = f"$ {message.get('command', '')}\n{message.get('output', '')}"
        return [UserMessage((Text(clean(text)),))]
    lost[f"messages of role {role}"] += 1
    return []


def _assistant(message: dict[str, Any], lost: Losses) -> AssistantMessage:
    blocks: list[AssistantBlock] = []
    content = message.get("content")
    for part in foreign.dicts(content):
        kind = part.get("type")
        if kind == "text":
            blocks.append(Text(foreign.text(part.get("text"))))
        elif kind == "thinking":
            blocks.append(Thinking(foreign.text(part.get("thinking"))))
        elif kind == "toolCall" and isinstance(part.get("arguments"), dict):
            arguments = ascii_json(part["arguments"]).decode()
            blocks.append(ToolCall(str(part.get("id")), str(part.get("name")), arguments))
        else:
            lost[f"blocks of kind {kind or 'unknown'}"] += 1
    given = message.get("usage")
    usage = given if isinstance(given, dict) else {}
    calls = any(isinstance(block, ToolCall) for block in blocks)
    return AssistantMessage(
        tuple(blocks),
        stop="tool_calls" if calls else "stop",
        usage=Usage(
            *(foreign.count(usage.get(name)) for name in ("input", "output", "cacheRead", "cacheWrite"))
        ),
    )
