"""What is left out of a conversation that no longer fits, and what stays.  Pure.

First old outputs of tools are cut to a line each.  If that is not enough, the older part becomes a summary:
what the user said, a model's account of the rest, the files that were read and changed, and the skills
that were loaded.  Calls and their results are never separated, and what stays is always a lawful history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from wisp.messages.content import Text
from wisp.messages.message import AssistantMessage, Message, Native, Notice, ToolResult, UserMessage
from wisp.session.earlier import SAID_ALL, Earlier, clip, lines_of, skills_of, squeezed, touch

KEEP_GROUPS = 3
"""Newest exchanges whose outputs are never cut, unless one alone is too large."""
PRUNE_OVER = 200
"""Tokens of an output worth cutting."""

Measure = Callable[[Message], int]


class Plan(msgspec.Struct, frozen=True):
    """A way to make a conversation smaller."""

    pruned: tuple[str, ...]
    """Ids of results that are cut to a line."""
    summarise: tuple[Message, ...]
    """The older part; empty when cutting outputs is enough."""
    kept: tuple[Message, ...]
    """What stays, outputs cut already."""


def plan(messages: Sequence[Message], room: int, measure: Measure, *, force: bool = False) -> Plan | None:
    """How `messages` can be brought below `room` tokens; None when nothing would help.

    Args:
        messages: a lawful history without open calls.
        room: tokens the conversation may take.
        measure: tokens of one message.
        force: make it smaller although it fits, as a person asked for.
    """
    parts = groups(messages)
    if len(parts) < 2 and not any(isinstance(m, ToolResult) for m in messages):
        return None
    cut = {
        m.id
        for part in parts[:-KEEP_GROUPS]
        for m in part
        if isinstance(m, ToolResult) and m.name != "skill" and measure(m) > PRUNE_OVER
    }
    lighter = pruned(messages, cut)
    if not force and sum(map(measure, lighter)) <= room * 0.8:
        return Plan(tuple(sorted(cut)), (), tuple(lighter)) if cut else None
    light = groups(lighter)
    keep, size = 0, 0
    while keep < len(light) - 1 and size + sum(map(measure, light[-1 - keep])) <= room * 0.4:
        size += sum(map(measure, light[-1 - keep]))
        keep += 1
    first = len(light) - max(keep, 1)
    kept = [m for part in light[first:] for m in part]
    if sum(map(measure, kept)) > room * 0.7:  # one exchange alone is too large: its outputs go too
        over = {m.id for m in kept if isinstance(m, ToolResult) and measure(m) > PRUNE_OVER}
        cut |= over
        kept = pruned(kept, over)
    older = tuple(m for part in parts[:first] for m in part)
    if not older and not cut:
        return None
    return Plan(tuple(sorted(cut)), older, tuple(kept))


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """The history in pieces that may be cut apart: a message, an answer with all its results."""
    found: list[list[Message]] = []
    for message in messages:
        if isinstance(message, ToolResult) and found:
            found[-1].append(message)
        else:
            found.append([message])
    return found


def pruned(messages: Sequence[Message], cut: set[str] | frozenset[str]) -> list[Message]:
    """`messages` with the results in `cut` shortened to a line that says so.

    Usage figures are dropped with it: they count what is no longer there.
    """
    return [_line(m) if isinstance(m, ToolResult) and m.id in cut else _without_usage(m) for m in messages]


def _line(result: ToolResult) -> ToolResult:
    size = len(result.text.encode("utf-8", "replace"))
    said = f"[{size} bytes of output removed to save space; run the call again if you need it]"
    return msgspec.structs.replace(result, content=(Text(said),))


def _without_usage(message: Message) -> Message:
    if isinstance(message, AssistantMessage) and message.usage is not None:
        return msgspec.structs.replace(message, usage=None)
    return message


def shortened(
    path: Sequence[Message],
    summary: str,
    first_kept: str,
    cut: Sequence[str],
    native: Native | None = None,
) -> list[Message] | None:
    """The history after a compaction: the summary, then `path` from `first_kept` on; None without it."""
    place = next((n for n, m in enumerate(path) if m.id == first_kept), None) if first_kept else 0
    if place is None:
        return None
    tail = pruned(path[place:], frozenset(cut))
    return [Notice(summary, "summary", native), *tail] if summary else tail


def summary_text(
    account: str,
    history: Sequence[Message],
    first_kept: str,
    room: int,
    earlier: Earlier | None = None,
) -> str:
    """The message that stands for everything before `first_kept`.

    Args:
        account: a model's summary, or empty when there is none.
        history: the whole conversation from its beginning, however often it was shortened before.
        first_kept: id of the first message that stays.
        room: tokens the conversation may take; what the user said gets at most a quarter of it.
        earlier: what went before `history`, where that does not reach back to the beginning.
    """
    earlier = earlier or Earlier()
    read, changed = files_of(history, earlier=earlier)
    place = next((n for n, m in enumerate(history) if m.id == first_kept), len(history))
    said = "\n".join(squeezed([*earlier.said, *lines_of(history[:place])], min(SAID_ALL, room)))
    parts = ["The earlier part of this conversation was shortened to save space."]
    if said:
        parts.append("The user said, in order:\n" + said)
    if account.strip():
        parts.append("What happened:\n" + account.strip())
    if changed:
        parts.append("Files changed so far: " + ", ".join(changed))
    if read:
        parts.append("Files read so far: " + ", ".join(read))
    parts += _skills(skills_of(history[:place], earlier.skills), room)
    return "\n\n".join(parts)


def _skills(loaded: Mapping[str, str], room: int) -> list[str]:
    """What skills say that were loaded, the last first as long as there is room; the others by name."""
    told: list[str] = []
    named: list[str] = []
    for name, text in reversed(list(loaded.items())):
        room -= len(text)
        if room > 0:
            told.append(f"The skill {name} was loaded and still holds:\n{text}")
        else:
            named.append(name)
    if named:
        told.append("Skills that were loaded, to be loaded again where they matter: " + ", ".join(named))
    return told


def files_of(
    history: Sequence[Message], most: int = 60, earlier: Earlier | None = None
) -> tuple[list[str], list[str]]:
    """Paths that tools read and that they changed, newest last; failed calls do not count."""
    earlier = earlier or Earlier()
    read, changed = dict.fromkeys(earlier.read), dict.fromkeys(earlier.changed)
    touch(history, read, changed)
    return [path for path in read if path not in changed][-most:], list(changed)[-most:]


def transcript_text(messages: Sequence[Message], most: int) -> str:
    """The older part as text for the model that summarises it: the newest `most` characters of it."""
    lines: list[str] = []
    for message in messages:
        if isinstance(message, UserMessage):
            lines.append(f"USER: {clip(message.text, 4_000)}")
        elif isinstance(message, AssistantMessage):
            calls = "".join(f"\n  calls {c.name} {clip(c.arguments, 600)}" for c in message.calls)
            lines.append(f"AGENT: {clip(message.text, 4_000)}{calls}")
        elif isinstance(message, ToolResult):
            lines.append(f"RESULT of {message.name}: {clip(message.text, 2_000)}")
        else:
            lines.append(f"NOTE: {clip(message.text, SAID_ALL)}")
    text = "\n".join(lines)
    return text if len(text) <= most else "[...]\n" + text[-most:]
