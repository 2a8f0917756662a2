"""Reads a model request of any dialect: what it offers and says, and what a strict service would refuse."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from wisp.testing import compacting

DIALECTS = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "messages",
    ":streamGenerateContent": "gemini",
}
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Request(msgspec.Struct):
    """One request as the server received it."""

    number: int
    """From 1."""
    dialect: str
    path: str
    headers: dict[str, str]
    body: bytes
    json: dict[str, Any]
    problems: list[str]
    """What a strict service would refuse."""

    @property
    def tools(self) -> list[str]:
        """Names of the offered tools."""
        found = []
        for tool in self.json.get("tools") or []:
            if self.dialect == "gemini":
                found += [declared["name"] for declared in tool.get("functionDeclarations") or []]
                continue
            found.append(tool["function"]["name"] if self.dialect == "chat" else tool.get("name", ""))
        return found

    @property
    def results(self) -> list[tuple[str, str]]:
        """Call id and text of every tool result, in order."""
        return [(item.id, item.text) for item in items(self.dialect, self.json) if item.kind == "result"]

    @property
    def last_result(self) -> str:
        """The text of the last tool result."""
        results = self.results
        return results[-1][1] if results else ""


def continued(body: dict[str, Any], stored: dict[str, list[Any]]) -> dict[str, Any] | None:
    """A Responses request with what the service had stored before it; None where that is gone."""
    cursor = body.get("previous_response_id")
    if cursor is None:
        return body
    return {**body, "input": [*stored[cursor], *body["input"]]} if cursor in stored else None


class Item(msgspec.Struct):
    """One entry of a conversation, whatever the dialect calls it."""

    kind: str
    """`user`, `assistant`, `call` or `result`."""
    text: str = ""
    id: str = ""


def items(dialect: str, body: Any) -> list[Item]:
    """The conversation of a request as one flat list."""
    found: list[Item] = []
    if dialect == "responses":
        entries = body.get("input")
        whole: list[Any] = entries if isinstance(entries, list) else [{"role": "user", "content": entries}]
        for entry in whole:
            kind = entry.get("type", "message")
            if kind == "function_call":
                found.append(Item("call", entry.get("arguments", ""), entry.get("call_id", "")))
            elif kind == "function_call_output":
                found.append(Item("result", text_of(entry.get("output")), entry.get("call_id", "")))
            elif kind == "message" and entry.get("role") in ("user", "assistant"):
                found.append(Item(entry["role"], text_of(entry.get("content"))))
        return found
    if dialect == "gemini":
        return _gemini_items(body)
    for message in body.get("messages") or []:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            found.append(Item("result", text_of(content), message.get("tool_call_id", "")))
            continue
        if role not in ("user", "assistant"):
            continue
        blocks = content if isinstance(content, list) else []
        found += [
            Item("result", text_of(block.get("content")), block.get("tool_use_id", ""))
            for block in blocks
            if block.get("type") == "tool_result"
        ]
        if text_of(content):
            found.append(Item(role, text_of(content)))
        found += [
            Item("call", "", block.get("id", "")) for block in blocks if block.get("type") == "tool_use"
        ]
        for call in message.get("tool_calls") or []:
            found.append(Item("call", call["function"].get("arguments", ""), call.get("id", "")))
    return found


def _gemini_items(body: Any) -> list[Item]:
    """Calls without an id are numbered; results without one are taken in order, as the service does."""
    found: list[Item] = []
    waiting: list[str] = []
    for content in body.get("contents") or []:
        role = "assistant" if content.get("role") == "model" else "user"
        parts = content.get("parts") or []
        for part in sorted(parts, key=lambda part: role == "assistant" and "functionCall" in part):
            if "functionCall" in part:
                name = part["functionCall"].get("id") or f"call_in_order_{len(found)}"
                waiting.append(name)
                found.append(Item("call", "", name))
            elif "functionResponse" in part:
                answer = part["functionResponse"]
                name = answer.get("id") or (waiting[0] if waiting else "none")
                if name in waiting:
                    waiting.remove(name)
                found.append(Item("result", text_of(list(answer["response"].values())), name))
            elif part.get("text"):
                found.append(Item(role, part["text"]))
    return found


def text_of(content: Any) -> str:
    """The words in a content of any shape; tool results are not words of the message they stand in."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(text_of(part) for part in content)
    if isinstance(content, dict) and content.get("type") != "tool_result":
        return text_of(content.get("text"))
    return ""


def problems_of(dialect: str, body: dict[str, Any]) -> list[str]:
    """What a strict service would refuse, as sentences."""
    found: list[str] = []
    if dialect != "gemini" and not body.get("model"):
        found.append("no model is named")
    if dialect == "messages":
        found += _messages_problems(body)
    waiting: list[str] = []
    seen: set[str] = set()
    for item in items(dialect, body):
        if item.kind == "call":
            if item.id in seen:
                found.append(f"call id {item.id!r} is used twice")
            if not _ID.fullmatch(item.id):
                found.append(f"call id {item.id!r} has characters or a length that are not allowed")
            seen.add(item.id)
            waiting.append(item.id)
        elif item.kind == "result":
            if item.id not in waiting:
                found.append(f"result {item.id!r} answers no open call")
            else:
                waiting.remove(item.id)
        elif waiting and item.kind in ("user", "assistant") and dialect != "responses":
            found.append(f"call {waiting[0]!r} has no result before the next message")
            waiting.clear()
    found += [f"call {name!r} has no result" for name in waiting]
    if dialect == "responses":
        found += compacting.problems(body.get("input"))
    return found


def _messages_problems(body: dict[str, Any]) -> list[str]:
    found = []
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        found.append("max_tokens is required")
    messages = body.get("messages") or []
    if not messages or messages[0].get("role") != "user":
        found.append("the first message is not the user's")
    for place, message in enumerate(messages):
        content = message.get("content")
        if not content:
            found.append(f"message {place} is empty")
        kinds = [block.get("type") for block in content] if isinstance(content, list) else []
        if "tool_result" in kinds:
            first_other = next((k for k, kind in enumerate(kinds) if kind != "tool_result"), len(kinds))
            if "tool_result" in kinds[first_other:]:
                found.append(f"message {place}: a tool result stands after other content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "text" and not block.get("text", "").strip():
                found.append(f"message {place}: an empty text block")
            if block.get("type") == "thinking" and not block.get("signature"):
                found.append(f"message {place}: thinking without a signature")
    return found
