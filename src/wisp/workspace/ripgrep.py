"""Finding ripgrep, asking it, and reading its answers as they come.

Knows its command line and its JSON; nothing of what the answers are for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MAX_FILE = 256 << 20
"""Largest file searched, with ripgrep and without, where it is held in memory."""
_MAX_RECORD = 8 << 20
_BASE = ("--no-config", "--no-require-git", "--no-ignore-global", "--color", "never")


class Line(NamedTuple):
    """One line ripgrep reports."""

    path: bytes
    number: int
    """0 when the line was too long to be kept."""
    data: bytes
    start: int
    """Where the first match begins in `data`; -1 for a line of context."""
    end: int


def find_ripgrep(search_path: str, besides: tuple[str, ...] = ()) -> str | None:
    """An `rg` on `search_path` outside the folders `besides`, else the one installed with us, else None."""
    for folder in search_path.split(os.pathsep):
        if not os.path.isabs(folder) or _beneath_any(folder, besides):
            continue
        found = os.path.join(folder, "rg")
        if _runnable(found):
            return found
    for folder in (os.path.dirname(sys.executable or ""), os.path.join(sys.prefix, "bin")):
        found = os.path.join(folder, "rg")
        if folder and _runnable(found):
            return found
    return None


def grep_arguments(
    rg: str, *, hidden: bool, globs: list[str], flags: list[str], pattern: str, target: str, ordered: bool
) -> list[str]:
    """The command that searches; the pattern can never be taken for an option.

    Args:
        ordered: file by file in the order of their names, which ripgrep does on one processor only.
    """
    return [
        rg, *_BASE, "--json", *(["--sort", "path"] if ordered else []), "--crlf",
        "--max-filesize", str(MAX_FILE),
        *flags, *_common(hidden, globs), "-e", pattern, "--", target,
    ]  # fmt: skip


def files_arguments(rg: str, *, hidden: bool) -> list[str]:
    """The command that lists files, separated by NUL."""
    return [rg, *_BASE, "--files", "--null", *_common(hidden, []), "--", "./"]


def environment(search_path: str) -> Mapping[str, str]:
    """All the environment it gets: nothing that could name a configuration file."""
    return {"PATH": search_path, "LC_ALL": "C.UTF-8"}


def _common(hidden: bool, globs: list[str]) -> list[str]:
    found = ["--hidden"] if hidden else []
    for glob in [*globs, "!.git"]:  # also where an ignore file allows every folder again
        found += ["-g", glob]
    return found


class Gathered:
    """The lines of files that come in any order, to be handed on in the order of their names.

    Args:
        room: lines that are kept at most.
    """

    def __init__(self, room: int) -> None:
        self._files: list[list[Line]] = []
        self._room = room

    def take(self, lines: list[Line]) -> bool:
        """Keep the lines of one file; False when there are too many."""
        self._files.append(lines)
        self._room -= len(lines)
        return self._room > 0

    @property
    def whole(self) -> bool:
        """Whether there was room for all."""
        return self._room > 0

    def in_order(self) -> list[list[Line]]:
        """File by file, folder by folder, as `--sort path` has them."""
        return sorted(self._files, key=lambda lines: lines[0].path.split(b"/"))


class Reader:
    """Takes pieces of `rg --json` output and hands on lines, file by file, in order.

    Args:
        take: gets all lines of one file once it is known not to be binary, or as soon as `most` matching
            lines are there; returning False asks for no more.
    """

    def __init__(self, take: Callable[[list[Line]], bool], most: int) -> None:
        self.finished = False
        """Whether ripgrep said that it had looked at everything."""
        import json  # nothing is searched in a first request

        self._take, self._most, self._parse = take, most, json.loads
        self._buffer = bytearray()
        self._skipping = False
        self._lines: list[Line] = []
        self._matches = 0

    def feed(self, data: bytes) -> bool:
        """Take the next piece; False when no more is wanted."""
        self._buffer += data
        while True:
            at = self._buffer.find(b"\n")
            if at < 0:
                if len(self._buffer) > _MAX_RECORD:
                    if not self._skipping:
                        self._note_long()
                    self._skipping = True
                    self._buffer.clear()
                return True
            record = bytes(self._buffer[:at])
            del self._buffer[: at + 1]
            if self._skipping:
                self._skipping = False
            elif not self._record(self._parse(record)):
                return False

    def _record(self, record: dict[str, Any]) -> bool:
        kind, data = record["type"], record["data"]
        if kind == "begin":
            self._lines, self._matches = [], 0
        elif kind in ("match", "context"):
            self._lines.append(_line(data, kind == "match"))
            self._matches += kind == "match"
            if self._matches >= self._most:
                lines, self._lines = self._lines, []
                return self._take(lines)
        elif kind == "end":
            lines, self._lines = self._lines, []
            if data.get("binary_offset") is None and lines:
                return self._take(lines)
        elif kind == "summary":
            self.finished = True
        return True

    def _note_long(self) -> None:
        import json

        head = bytes(self._buffer[:10_000])
        if not head.startswith(b'{"type":"match"'):
            return
        start = head.find(b'{"text":"') + 9
        end = head.find(b'"}', start)
        try:
            path = json.loads(b'"' + head[start:end] + b'"')
        except ValueError:
            return
        self._lines.append(Line(os.fsencode(path), 0, b"", 0, 0))
        self._matches += 1


def _line(data: dict[str, Any], is_match: bool) -> Line:
    spans = data.get("submatches") or []
    start, end = (spans[0]["start"], spans[0]["end"]) if spans and is_match else (0 if is_match else -1, 0)
    return Line(_bytes(data["path"]), data["line_number"] or 0, _bytes(data["lines"]), start, end)


def _bytes(value: dict[str, str]) -> bytes:
    if "text" in value:
        return str(value["text"]).encode()
    import base64

    return base64.b64decode(value["bytes"])


def _runnable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _beneath_any(folder: str, besides: tuple[str, ...]) -> bool:
    real = os.path.realpath(folder)
    return any(real == top or real.startswith(top.rstrip("/") + "/") for top in besides)
