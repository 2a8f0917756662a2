"""Codex's rollout files: `{timestamp, type, payload}` a line, the payloads items of the Responses API."""

from __future__ import annotations

import json
from typing import Any

from wisp.exchange import foreign
from wisp.exchange.transcript import Imported, Losses, NotThatFormat, Said
from wisp.messages.codec import ascii_json, clean
from wisp.messages.content import AssistantBlock, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage

_REPEATED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
)
"""How rows begin that Codex writes on its own, again and again."""


def read_codex(data: bytes) -> Imported:
    """What a rollout holds.

    Raises:
        NotThatFormat: no line is one of a rollout.
    """
    lost = Losses()
    reader = _Reader(lost)
    recognised = False
    for row in foreign.rows(data, lost):
        payload = row.get("payload")
        kind = row.get("type")
        if kind == "session_meta" and isinstance(payload, dict):
            recognised = True
            reader.session = str(payload.get("id", ""))
            reader.cwd = str(payload.get("cwd", "") or "")
        elif kind == "response_item" and isinstance(payload, dict):
            recognised = True
            reader.item(payload, str(row.get("timestamp") or ""))
        elif kind == "compacted":
            lost["summaries"] += 1
        elif kind not in ("event_msg", "turn_context"):
            lost["lines of other kinds"] += 1
    if not recognised:
        raise NotThatFormat("no line is one of a Codex rollout")
    return Imported("Codex", reader.session, reader.cwd, "", tuple(reader.said), dict(lost))


class _Reader:
    """Items to messages: what the model said in one go, and the calls it made with it, is one message."""

    def __init__(self, lost: Losses) -> None:
        self.session = self.cwd = ""
        self.said: list[Said] = []
        self._lost = lost
        self._names: dict[str, str] = {}

    def item(self, item: dict[str, Any], at: str) -> None:
        """Take one in."""
        kind = item.get("type")
        if kind == "message":
            self._message(item, at)
        elif kind == "reasoning":
            words = [
                str(part.get("text", "")) for part in item.get("summary") or [] if isinstance(part, dict)
            ]
            if any(words):
                self._add(Thinking("\n\n".join(words)), at)
            else:
                self._lost["encrypted reasoning"] += 1
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._call(item, str(kind), at)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call = str(item.get("call_id"))
            text, failed = _output(item.get("output"))
            result = ToolResult(call, self._names.get(call, "unknown"), (Text(clean(text)),), failed)
            self.said.append(Said(result, at))
        else:
            self._lost[f"items of kind {kind}"] += 1

    def _message(self, item: dict[str, Any], at: str) -> None:
        role = item.get("role")
        blocks = foreign.blocks(item.get("content"), self._lost)
        if role == "assistant":
            for block in blocks:
                if isinstance(block, Text):
                    self._add(block, at)
        elif role == "user":
            text = "".join(block.text for block in blocks if isinstance(block, Text)).lstrip()
            if text.startswith(_REPEATED):
                self._lost["repeated instructions"] += 1
            elif blocks:
                self.said.append(Said(UserMessage(blocks), at))
        else:
            self._lost["repeated instructions"] += 1

    def _call(self, item: dict[str, Any], kind: str, at: str) -> None:
        name, arguments = str(item.get("name", "shell")), item.get("arguments")
        if kind == "custom_tool_call":
            arguments = json.dumps({"input": item.get("input")})
        elif kind == "local_shell_call":
            arguments = json.dumps(item.get("action") or {})
        try:
            whole = json.loads(str(arguments))
        except (ValueError, RecursionError):
            whole = None
        if not isinstance(whole, dict):
            self._lost["arguments that are no object"] += 1
            whole = {}
        call = ToolCall(str(item.get("call_id") or item.get("id")), name, ascii_json(whole).decode())
        self._names[call.id] = name
        self._add(call, at)

    def _add(self, block: AssistantBlock, at: str) -> None:
        last = self.said[-1].message if self.said else None
        if isinstance(last, AssistantMessage) and not (last.calls and not isinstance(block, ToolCall)):
            content = (*last.content, block)
        else:
            content = (block,)
            self.said.append(Said(AssistantMessage(()), at))
        calls = any(isinstance(one, ToolCall) for one in content)
        message = AssistantMessage(content, stop="tool_calls" if calls else "stop")
        self.said[-1] = Said(message, self.said[-1].at)


def _output(output: Any) -> tuple[str, bool]:
    """The text of a result, and whether the command failed; older rollouts hold JSON in a string."""
    if isinstance(output, str) and output.startswith("{"):
        try:
            inner = json.loads(output)
        except (ValueError, RecursionError):
            return output, False
        if isinstance(inner, dict) and isinstance(inner.get("output"), str):
            meta = inner.get("metadata")
            code = meta.get("exit_code") if isinstance(meta, dict) else 0
            return inner["output"], bool(code)
    if isinstance(output, list):
        return "\n".join(foreign.text(part.get("text")) for part in foreign.dicts(output)), False
    return str(output if output is not None else ""), False
