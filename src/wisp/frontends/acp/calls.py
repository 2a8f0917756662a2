"""A tool call as an editor shows it: its kind, its title, where it works, and what it changed.  Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from wisp.frontends.acp.types import (
    CallContent,
    FileDiff,
    ImageContent,
    InCall,
    Kind,
    Location,
    PlanEntry,
    PlanUpdate,
    ShownText,
)
from wisp.host.showing import Shown, flat, named, safe
from wisp.messages.content import Image, ResultBlock

_KINDS: dict[str, Kind] = {
    "read": "read",
    "ls": "read",
    "skill": "read",
    "grep": "search",
    "find": "search",
    "code_search": "search",
    "code_map": "search",
    "write": "edit",
    "edit": "edit",
    "bash": "execute",
    "process": "execute",
    "todo": "think",
}
_STATES: dict[str, Literal["pending", "in_progress", "completed"]] = {
    "open": "pending",
    "doing": "in_progress",
    "done": "completed",
}
_TITLE = 120
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)


class _Item(msgspec.Struct):
    text: str
    state: Literal["open", "doing", "done"] = "open"


def kind_of(tool: str) -> Kind:
    """The protocol's word for what a tool does."""
    return _KINDS.get(tool, "other")


def arguments_of(text: str) -> dict[str, Any]:
    """A call's arguments; empty where they are no object."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def title_of(tool: str, arguments: Mapping[str, Any]) -> Shown:
    """One line until the tool itself has said what it would do."""
    for name in ("command", "path", "pattern", "name"):
        told = arguments.get(name)
        if isinstance(told, str) and told.strip():
            line = told.strip().split("\n", 1)[0]
            cut = line if len(line) <= _TITLE and line == told.strip() else line[:_TITLE] + "…"
            return named(cut if tool == "bash" else f"{tool} {cut}")
    return named(tool)


def locations_of(arguments: Mapping[str, Any], cwd: str) -> tuple[Location, ...]:
    """The files a call names, absolute, so that an editor can follow along."""
    line = arguments.get("offset")
    places = [(arguments.get("path"), line if isinstance(line, int) and 0 < line < 1 << 31 else None)]
    edits = arguments.get("edits")
    if isinstance(edits, list):
        places += [(edit.get("path"), None) for edit in edits if isinstance(edit, dict)]
    found: dict[str, Location] = {}
    for path, at in places:
        if isinstance(path, str) and path and "\0" not in path:
            whole = os.path.normpath(os.path.join(cwd, path))
            found.setdefault(whole, Location(path=whole, line=at))
    return tuple(found.values())


def plan_of(arguments: Mapping[str, Any]) -> PlanUpdate | None:
    """The list that a call of `todo` sets; None where it is not understood."""
    try:
        items = msgspec.convert(arguments.get("items"), list[_Item])
    except msgspec.ValidationError:
        return None
    entries = (PlanEntry(content=flat(i.text), status=_STATES[i.state], priority="medium") for i in items)
    return PlanUpdate(entries=tuple(entries))


def result_content(
    text: str, diff: str, images: tuple[ResultBlock, ...], cwd: str
) -> tuple[CallContent, ...]:
    """What came of a call: its diff where it has one, otherwise its text, and pictures."""
    shown: tuple[CallContent, ...] = diffs(diff, cwd) or (fenced(safe(text)),) if text or diff else ()
    pictures = [block for block in images if isinstance(block, Image)]
    return (*shown, *(InCall(content=ImageContent(mime_type=p.media_type, data=p.data)) for p in pictures))


def fenced(text: Shown) -> InCall:
    """Text as it is: editors render what they get as Markdown."""
    return InCall(content=ShownText(text=in_fence(text)))


def in_fence(text: Shown) -> Shown:
    """Text as a code block of Markdown, whatever it holds."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return safe(f"{fence}\n{text.rstrip()}\n{fence}")


def diffs(text: str, cwd: str) -> tuple[FileDiff, ...]:
    """A unified diff as pairs of old and new text, one for each hunk.

    Nothing where any of it is not understood: half a change must not look like a whole one.
    """
    found: list[FileDiff] = []
    try:
        for path, created, hunk in _hunks(text):
            old = "".join(line[1:] for line in hunk if line[0] != "+")
            new = "".join(line[1:] for line in hunk if line[0] != "-")
            place = os.path.normpath(os.path.join(cwd, path))
            found.append(FileDiff(path=place, old_text=None if created else old, new_text=new))
    except ValueError:
        return ()
    return tuple(found)


def _hunks(text: str) -> Iterator[tuple[str, bool, list[str]]]:
    """`(path, whether the file is new, lines with their signs)`.

    Raises:
        ValueError: this is no whole unified diff.
    """
    lines = iter(_lines(text))
    path, created = "", False
    line = next(lines, "")
    while line:
        if line.startswith("--- "):
            created = line.startswith("--- /dev/null")
            path = _path(next(lines, ""))
            line = next(lines, "")
            continue
        match = re.match(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line)
        if match is None or not path:
            raise ValueError("not a diff")
        olds, news = (1 if count is None else int(count) for count in match.groups())
        hunk: list[str] = []
        line = next(lines, "")
        while line and (olds > 0 or news > 0 or line[0] == "\\"):
            if line[0] == "\\" and hunk:
                hunk[-1] = hunk[-1].removesuffix("\n")
            elif line[0] in " +-" and line[-1] == "\n":
                olds, news = olds - (line[0] != "+"), news - (line[0] != "-")
                hunk.append(line)
            else:
                raise ValueError("not a line of a hunk")
            line = next(lines, "")
        if olds or news:
            raise ValueError("a hunk is cut")
        yield path, created, hunk


def _lines(text: str) -> list[str]:
    """Lines that end with a line feed alone: a carriage return belongs to the line."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _path(header: str) -> str:
    if not header.startswith("+++ "):
        raise ValueError("not a header")
    name = header[4:].rstrip("\n").removesuffix("\t")
    if name.startswith('"') and name.endswith('"') and len(name) > 1:
        raw = _ESCAPE.sub(lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else m[1], name[1:-1].encode())
        name = os.fsdecode(raw)
    return name.removeprefix("b/")
