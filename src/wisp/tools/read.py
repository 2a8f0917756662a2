"""Showing one file: text by window, images as images, notebooks as cells, PDF text by pages."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import msgspec

from wisp.messages.content import Image, Text
from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, RunContext
from wisp.tools.ledger import ReadLedger, Seen
from wisp.tools.render import MAX_BYTES, MAX_LINES, clip, clip_bytes, plural
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import Target, failures, relative, to_read
from wisp.tools.unsaved import NOTE, unsaved
from wisp.workspace import files, text
from wisp.workspace.errors import Refused
from wisp.workspace.root import Opened, Workspace
from wisp.workspace.stop import StopToken

SMALL = 16 << 20
"""Files up to this size are read whole: their lines are counted and their bytes remembered by digest."""
MAX_IMAGE = 3_750_000
"""What still fits into a request once it is base64."""
LARGEST_IMAGE = 50_000_000
"""What is read at most of an image that can be made smaller."""
_MAGIC = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class ReadArguments(msgspec.Struct, frozen=True):
    """What `read` takes."""

    path: str
    offset: Annotated[int, msgspec.Meta(description="First line, from 1")] = 1
    limit: Annotated[int, msgspec.Meta(description="Most lines")] = MAX_LINES


class _Window(NamedTuple):
    lines: list[str]
    total: int | None
    """Lines of the whole file, where that is known."""
    form: text.Form
    crlf: bool
    note: str = ""


class ReadTool:
    """Reads text by lines, and images."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(
        self, workspace: Workspace, ledger: ReadLedger, fallbacks: tuple[str, ...] = text.DEFAULT_FALLBACKS
    ) -> None:
        self._workspace, self._ledger, self._fallbacks = workspace, ledger, fallbacks
        self.spec = ToolSpec(
            "read",
            "Read a text file, 2000 lines or 50,000 bytes at a time, or an image.",
            schema_of(ReadArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Find the file; opens nothing."""
        args = decode(ReadArguments, arguments, tool="read")
        if args.offset < 1 or args.limit < 1:
            raise ToolFailure("invalid_arguments", "read: offset and limit begin at 1")
        target = to_read(self._workspace, args.path)
        name = relative(self._workspace, target.path)
        return Prepared(
            tool="read",
            arguments=msgspec.to_builtins(args),
            effects=(target.effect("read"),),
            run=lambda context: self._run(target, args, name, context),
            summary=f"read {name}",
        )

    def _run(self, target: Target, args: ReadArguments, name: str, context: RunContext) -> ToolOutcome:
        with failures(name):
            opened = self._workspace.open_file(target.place)
            try:
                if opened.path != target.path:
                    raise ToolFailure("stale_input", f"{name} now leads to another file; repeat the call")
                return self._show(opened, target, args, name, context.stop)
            finally:
                os.close(opened.fd)

    def _show(
        self, opened: Opened, target: Target, args: ReadArguments, name: str, stop: StopToken
    ) -> ToolOutcome:
        head = os.pread(opened.fd, 65536, 0)
        kind = image_type(head)
        if kind:
            return _image(opened, kind, name)
        if head.startswith(b"%PDF-"):
            from wisp.tools.pdf import show

            return show(opened.fd, name, args.offset, args.limit, stop)
        if text.is_binary(head):
            raise ToolFailure("binary", _binary_words(opened, name))
        if opened.stat.st_size <= SMALL:
            data = b"".join(files.chunks(opened.fd, SMALL + 1, opened.stat.st_size + 1))
        else:
            data = b""
        note = ""
        if opened.stat.st_size <= SMALL and len(data) <= SMALL:
            if (made := unsaved(self._ledger.editor, target, data)) is not None:
                data, note = made, NOTE
            cells = _notebook(data, target.path, args)
            window = cells or _from_whole(data, args, self._fallbacks, name)
            seen = Seen(files.digest(data), files.signature(opened.stat))
        else:
            os.lseek(opened.fd, 0, os.SEEK_SET)
            window = _from_stream(opened.fd, args, text.form_of(head), stop)
            seen = Seen("", files.signature(opened.stat))
        self._ledger.note(target.path, seen)
        return _render(window, args, target, name, note)


def image_type(head: bytes) -> str:
    """The media type of an image by its first bytes; empty for anything else."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else ""


def _image(opened: Opened, kind: str, name: str) -> ToolOutcome:
    import base64

    from wisp.tools import images

    resizes = images.available()
    most = LARGEST_IMAGE if resizes else MAX_IMAGE
    data = b"".join(files.chunks(opened.fd, most + 1))
    if len(data) > most:
        extra = "" if resizes else ", or install the extra 'images' (pip install 'wisp-agent[images]')"
        raise ToolFailure(
            "too_large",
            f"{name} is an image of more than {most:,} bytes; make a smaller copy with bash{extra}",
        )
    picture = images.fitted(data, kind, name, MAX_IMAGE) if resizes else images.Picture(data, kind, "")
    words = f"{name} ({kind}, {len(data):,} bytes{', ' if picture.note else ''}{picture.note})"
    return ToolOutcome((Text(words), Image(picture.kind, base64.b64encode(picture.data).decode())))


def _binary_words(opened: Opened, name: str) -> str:
    return (
        f"{name} is not text ({opened.stat.st_size:,} bytes, it holds NUL bytes); "
        "look at it with bash, for instance file, strings or xxd"
    )


def _notebook(data: bytes, path: str, args: ReadArguments) -> _Window | None:
    """The window of a notebook; None when the file is none."""
    if not path.endswith(".ipynb"):
        return None
    from wisp.tools.notebook import as_lines, cells_of

    cells = cells_of(data.decode("utf-8-sig", "replace"))
    if cells is None:
        return None
    lines = as_lines(cells)
    note = f"[a notebook of {plural(len(cells), 'cell')}, shown without its JSON; edits must match the JSON]"
    first = args.offset - 1
    shown = lines[first : first + min(args.limit, MAX_LINES)]
    return _Window(shown, len(lines), text.UTF8, crlf=False, note=note)


def _from_whole(data: bytes, args: ReadArguments, fallbacks: tuple[str, ...], name: str) -> _Window:
    try:
        decoded = text.decode(data, fallbacks)
    except Refused as exc:
        raise ToolFailure(exc.code, f"{name} cannot be shown: {exc.message}; look at it with bash") from None
    body = decoded.text
    crlf = "\r" in body and "\r\n" in body  # one character is found a hundred times sooner than two are
    body = body.replace("\r\n", "\n") if crlf else body
    if "\r" in body and "\n" not in body:
        body = body.replace("\r", "\n")
    total = body.count("\n") + (not body.endswith("\n") and body != "")
    first = args.offset - 1
    count = max(0, min(args.limit, MAX_LINES, total - first))
    lines = body[_beginning(body, first) :].split("\n", count)[:count] if count else []
    return _Window(lines, total, decoded.form, crlf)


def _beginning(body: str, line: int) -> int:
    """Where `line`, counted from 0, begins; it must be there.  Takes apart no more than a block."""
    at, block = 0, 65536
    while (passed := body.count("\n", at, at + block)) < line:
        line, at = line - passed, at + block
    for _ in range(line):
        at = body.index("\n", at) + 1
    return at


def _from_stream(fd: int, args: ReadArguments, form: text.Form, stop: StopToken) -> _Window:
    """Only the lines asked for, in bounded memory: lines before are counted, the rest is not read."""
    wanted = min(args.limit, MAX_LINES)
    lines: list[bytes] = []
    current = bytearray()
    line, room = 1, 4 * MAX_BYTES
    ended, last = True, b""
    for piece in _as_utf8(fd, form, stop):
        at, last = 0, piece[-1:] or last
        if line < args.offset:
            missing = args.offset - line
            count = piece.count(b"\n")
            if count < missing:
                line += count
                continue
            for _ in range(missing):
                at = piece.index(b"\n", at) + 1
            line = args.offset
        rest = piece[at:].split(b"\n")
        for part in rest[:-1]:
            lines.append(bytes(current + part[: max(0, room - len(current))]))
            room -= len(lines[-1])
            current.clear()
        current += rest[-1][: max(0, room - len(current))]
        if len(lines) > wanted or room <= len(current):
            ended = False
            break
    if current and (ended or not lines):
        lines.append(bytes(current))
    total = None
    if ended:
        total = line - 1 + (len(lines) if line >= args.offset else last != b"\n")
    crlf = any(row.endswith(b"\r") for row in lines)
    shown = [row.removesuffix(b"\r").decode("utf-8", "replace") for row in lines[:wanted]]
    return _Window(shown, total, form, crlf)


def _as_utf8(fd: int, form: text.Form, stop: StopToken) -> Iterator[bytes]:
    """Pieces of an open file as UTF-8, without its mark."""
    decoder = None if form.encoding == "utf-8" else codecs.getincrementaldecoder(form.encoding)("replace")
    skip = len(form.mark)
    while piece := os.read(fd, 1 << 20):
        stop.check()
        piece, skip = piece[skip:], 0
        yield decoder.decode(piece).encode("utf-8", "replace") if decoder else piece


def _render(window: _Window, args: ReadArguments, target: Target, name: str, note: str = "") -> ToolOutcome:
    total = window.total
    if total is not None and args.offset > max(total, 1):
        raise ToolFailure(
            "invalid_arguments", f"{name} has only {total:,} lines; offset {args.offset} is past them"
        )
    notes = [target.note] if target.note else []
    if window.form.encoding != "utf-8":
        notes.append(f"[{window.form.encoding}]")
    notes += [said for said in (note, window.note) if said]
    if window.crlf:
        notes.append("[lines end with CRLF]")
    if not window.lines:
        return plain("\n".join([*notes, "[the file is empty]"]), path=name)
    shown = clip(window.lines)
    body, count = shown.text, shown.lines
    if not count:
        body, count = clip_bytes(window.lines[0], MAX_BYTES), 1
        notes.append(
            f"[line {args.offset} is cut after {MAX_BYTES:,} bytes; see more with: "
            f"sed -n {args.offset}p FILE | cut -c N-]"
        )
    last = args.offset + count - 1
    if total is None or last < total:
        known = f" of {total:,}" if total is not None else ""
        notes.append(f"[lines {args.offset}-{last}{known}; continue with offset={last + 1}]")
    return plain("\n".join([body, *notes]), path=name, first=args.offset, last=last)
