"""A conversation as Markdown, to be read or put into a pull request."""

from __future__ import annotations

import json
import re

from wisp.exchange.transcript import Said, Transcript
from wisp.messages.content import Image, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage

RESULT_LINES = 60
"""Lines of a tool's output that are shown; how many more there were is said."""


def markdown(transcript: Transcript) -> bytes:
    """The conversation as one document."""
    parts = [f"# {_line(transcript.title) or 'Conversation'}", _facts(transcript)]
    parts += [text for one in transcript.said if (text := _said(one))]
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")


def _facts(transcript: Transcript) -> str:
    facts = [f"session `{transcript.session_id}`", f"folder `{_line(transcript.cwd)}`"]
    if transcript.model:
        facts.append(f"model `{_line(transcript.model)}`")
    if transcript.said:
        facts.append(f"{transcript.said[0].at} to {transcript.said[-1].at}")
    cost = transcript.cost_usd
    facts.append("cost unknown" if cost is None else f"${cost:.4f}")
    return "- " + "\n- ".join(facts)


def _said(one: Said) -> str:
    message = one.message
    if isinstance(message, UserMessage):
        blocks = [b.text if isinstance(b, Text) else f"*[{b.media_type}]*" for b in message.content]
        return "## User\n\n" + "\n\n".join(blocks)
    if isinstance(message, AssistantMessage):
        return "\n\n".join(["## Agent", *_blocks(message)])
    if isinstance(message, ToolResult):
        return _result(message)
    return f"*{_line(message.text)}*"


def _blocks(message: AssistantMessage) -> list[str]:
    parts = []
    for block in message.content:
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, Thinking) and block.text:
            parts.append("<details><summary>Thinking</summary>\n\n" + fenced(block.text) + "\n\n</details>")
        elif isinstance(block, ToolCall):
            parts.append(f"**{_line(block.name)}**\n\n{fenced(_pretty(block.arguments), 'json')}")
    if message.error:
        parts.append(f"*[{_line(message.error)}]*")
    return parts


def _result(message: ToolResult) -> str:
    lines = message.text.splitlines()
    more = f"\n[{len(lines) - RESULT_LINES:,} more lines]" if len(lines) > RESULT_LINES else ""
    mark = " (failed)" if message.is_error else ""
    pictures = sum(isinstance(block, Image) for block in message.content)
    shown = "\n".join(lines[:RESULT_LINES]) + more + (f"\n[{pictures} images]" if pictures else "")
    title = f"<details><summary>Result of {_escaped(message.name)}{mark}</summary>"
    return f"{title}\n\n{fenced(shown)}\n\n</details>"


def fenced(text: str, language: str = "") -> str:
    """`text` in a fence that nothing in it can close."""
    longest = max((len(run) for run in re.findall(r"^ *(`{3,})", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return _line(text).replace("&", "&amp;").replace("<", "&lt;")
