"""What is remembered of a conversation's older part once its messages are no longer held in memory.  Pure.

A summary needs what the user said and which files were touched, from the very beginning; this is that, in
a bounded form that grows with the conversation and gives the same summary as the whole of it would.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from wisp.messages.message import AssistantMessage, Message, ToolResult, UserMessage

SAID_EACH, SAID_ALL = 1_500, 12_000
"""Characters kept of one user message in a summary, and of all together."""
FILES_KEPT = 1_000
"""Paths remembered of each kind, the newest."""
SKILLS_KEPT, SKILL_EACH = 8, 20_000
"""Skills remembered, those used last, and characters of each."""
STARTED = re.compile(r"The user started skill /(\S+?)\.? ")
"""How the message begins with which a person starts a skill; see `host.expanding`."""


class Earlier(msgspec.Struct):
    """The messages that went before, added up.  Changed by `take` alone."""

    count: int = 0
    said: list[str] = []
    """Lines of what the user said; of very many, enough from both ends."""
    read: list[str] = []
    changed: list[str] = []
    """Paths, newest last."""
    skills: dict[str, str] = {}
    """What skills that were loaded say, by name, newest last."""

    def take(self, messages: Sequence[Message]) -> None:
        """Add `messages`, which follow those taken before."""
        self.count += len(messages)
        self.said = _both_ends([*self.said, *lines_of(messages)])
        read, changed = dict.fromkeys(self.read), dict.fromkeys(self.changed)
        touch(messages, read, changed)
        self.read, self.changed = list(read)[-FILES_KEPT:], list(changed)[-FILES_KEPT:]
        self.skills = skills_of(messages, self.skills)


def skills_of(messages: Iterable[Message], before: Mapping[str, str]) -> dict[str, str]:
    """The skills that were loaded, by the model or a person, after those `before`; newest last."""
    found = dict(before)
    names: dict[str, str] = {}
    for message in messages:
        name = ""
        if isinstance(message, AssistantMessage):
            calls = [call for call in message.calls if call.name == "skill"]
            names |= {call.id: _skill(call.arguments) for call in calls}
        elif isinstance(message, ToolResult) and not message.is_error:
            name = names.get(message.call_id, "")
        elif isinstance(message, UserMessage) and (started := STARTED.match(message.text)):
            name = started[1]
        if name:
            found.pop(name, None)
            found[name] = clip(message.text, SKILL_EACH)
    return dict(list(found.items())[-SKILLS_KEPT:])


def _skill(arguments: str) -> str:
    """The skill whose instructions a call loads; empty for one that reads a file of it."""
    value = _object(arguments)
    name = value.get("name")
    return name if isinstance(name, str) and not value.get("resource") else ""


def lines_of(messages: Iterable[Message]) -> list[str]:
    """What the user said, a clipped line each."""
    return [f"- {clip(' '.join(m.text.split()), SAID_EACH)}" for m in messages if isinstance(m, UserMessage)]


def squeezed(lines: list[str], most: int) -> list[str]:
    """At most `most` characters of `lines`, the middle ones left out first: the first hold the goal, the
    last the latest wish."""
    size = sum(map(len, lines))
    left, right = lines[: -(-len(lines) // 2)], lines[-(-len(lines) // 2) :]
    while len(left) + len(right) > 2 and size > most:
        size -= len((right if len(right) == len(left) else left).pop(0 if len(right) == len(left) else -1))
    return left + right


def _both_ends(lines: list[str]) -> list[str]:
    """`lines` without those in the middle that no summary would have, whatever its size."""
    if sum(map(len, lines)) <= 4 * SAID_ALL:
        return lines
    return _until(lines) + _until(lines[::-1])[::-1]


def _until(lines: list[str]) -> list[str]:
    size, count = 0, 0
    while size <= SAID_ALL:
        size += len(lines[count])
        count += 1
    return lines[:count]


def clip(text: str, most: int) -> str:
    """`text`, or its beginning and end with a mark between."""
    return text if len(text) <= most else text[: most // 2] + " [...] " + text[-most // 2 :]


def touch(history: Sequence[Message], read: dict[str, None], changed: dict[str, None]) -> None:
    """Note which paths the tools of `history` read and changed; failed calls do not count."""
    failed = {m.call_id for m in history if isinstance(m, ToolResult) and m.is_error}
    for message in history:
        if not isinstance(message, AssistantMessage):
            continue
        for call in message.calls:
            target = changed if call.name in ("edit", "write") else read if call.name == "read" else None
            if target is None or call.id in failed:
                continue
            for path in _paths(_object(call.arguments)):
                target.pop(path, None)
                target[path] = None


def _paths(arguments: dict[str, Any]) -> list[str]:
    """The files a call names; an edit may name others in its parts."""
    edits = arguments.get("edits")
    parts = [part for part in edits if isinstance(part, dict)] if isinstance(edits, list) else []
    found = [value.get("path") or value.get("file_path") for value in (arguments, *parts)]
    return [path for path in found if path and isinstance(path, str)]


def _object(arguments: str) -> dict[str, Any]:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
