"""Stored sessions to files for others, and other agents' files to stored sessions."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import msgspec

from wisp._version import __version__
from wisp.exchange.transcript import Imported, NotThatFormat, Said, Transcript
from wisp.harness.repair import repair
from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.given import whole_file
from wisp.host.scrubbing import known_values
from wisp.messages.ids import Clock, iso
from wisp.messages.message import Message
from wisp.session.branches import first_line
from wisp.session.catalog import resolve, session_path
from wisp.session.codec import decode, encode
from wisp.session.open import Tree, opened_tree
from wisp.session.records import Known, MessageRecord, Record, SessionHeader, TitleRecord
from wisp.session.scan import record_at
from wisp.session.scrub import Scrubber
from wisp.session.whole import about, create

ENDINGS = {".md": "markdown", ".html": "html", ".htm": "html", ".json": "atif", ".jsonl": "claude"}
"""What a file's ending says of its format."""
FORMATS = ("markdown", "html", "atif", "claude")
SOURCES = ("claude", "codex", "pi")
MOST_BYTES = 1 << 30
"""Longest file that is imported."""


class Exported(msgspec.Struct, frozen=True):
    """A session in another form."""

    data: bytes
    scrubbed: dict[str, int]
    """Kinds of credentials that were taken out, and how often."""


class Arrived(msgspec.Struct, frozen=True):
    """A session that was made of another agent's file."""

    id: str
    path: str
    source: str
    messages: int
    lost: dict[str, int]
    """What could not be taken along, and how often."""


def export_session(
    configured: Configured, env: Mapping[str, str], prefix: str, form: str, *, scrub: bool
) -> Exported:
    """The conversation that `prefix` names, along the branch it stands on.

    Args:
        form: one of `FORMATS`.
        scrub: take credentials out first.

    Raises:
        NoSuchSession: none, or several.
        OSError: it cannot be read.
    """
    found: Counter[str] = Counter()
    scrubber = Scrubber(known_values(configured, env)) if scrub else None
    with opened_tree(resolve(configured.session_base, prefix)) as tree:
        said = tuple(_said(tree, scrubber, found))
        state = tree.fold.state
    header = state.header
    title = state.title or next((first_line(one.message) for one in said), "")
    transcript = Transcript(
        header.session_id if header else "", header.cwd if header else "", title, __version__, said
    )
    return Exported(_writer(form)(transcript), dict(sorted(found.items())))


def form_of(file: str) -> str:
    """The format that a file's ending asks for; Markdown where it says nothing."""
    return ENDINGS.get(os.path.splitext(file)[1].lower(), "markdown")


def write_new(path: str, made: Exported) -> None:
    """Make a new file of it, for its owner alone.

    Raises:
        OSError: it is there already, or cannot be made; nothing is changed then.
    """
    with about(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(made.data)
        except OSError:
            os.unlink(path)
            raise


def import_session(configured: Configured, clock: Clock, file: str, source: str = "") -> Arrived:
    """Make a session of another agent's file; the file stays as it is.

    Args:
        source: one of `SOURCES`; empty to find out.

    Raises:
        OpenFailed: it is no such file, or holds no message.
        OSError: it cannot be read, or the session cannot be made.
    """
    try:
        data = whole_file(file, MOST_BYTES)
    except OSError as exc:
        if exc.errno != errno.EFBIG:
            raise
        raise OpenFailed(f"{file} is larger than {MOST_BYTES >> 20} MiB", 1) from None
    read = _read(data, file, source)
    if not read.said:
        raise OpenFailed(f"{file} is a session of {read.source} without a message that could be taken", 1)
    repaired = repair([one.message for one in read.said], clock.new_id)
    times = {id(one.message): one.at for one in read.said}
    new = clock.new_id()
    cwd = read.cwd if os.path.isdir(read.cwd) else configured.cwd
    lost = dict(read.lost)
    if repaired.notes:
        lost["repairs"] = len(repaired.notes)
    path = session_path(configured.session_base, cwd, new)
    lines = _lines(repaired.messages, times, new, cwd, read, clock)
    create(path, lines)
    return Arrived(new, path, read.source, len(repaired.messages), lost)


def _read(data: bytes, file: str, source: str) -> Imported:
    if source and source not in SOURCES:
        raise OpenFailed(f"{source!r} is no format that can be imported; use {', '.join(SOURCES)}", 2)
    reasons = []
    for name in (source,) if source else SOURCES:
        try:
            return _reader(name)(data)
        except NotThatFormat as exc:
            reasons.append(str(exc))
    raise OpenFailed(f"{file} cannot be imported: {'; '.join(reasons)}", 1)


def _lines(
    messages: tuple[Message, ...],
    times: Mapping[int, str],
    new: str,
    cwd: str,
    read: Imported,
    clock: Clock,
) -> Iterator[bytes]:
    now = iso(clock.now())
    made: list[tuple[Known, str, str]] = [
        (SessionHeader(new, cwd, f"wisp {__version__}", f"{read.source} {read.session_id}@"), f"{new}-0", now)
    ]
    for number, message in enumerate(messages, 1):
        own = message.id or f"{new}-{number}"
        kept = MessageRecord(msgspec.structs.replace(message, id=own))
        made.append((kept, own, times.get(id(message), "") or now))
    if read.title:
        made.append((TitleRecord(" ".join(read.title.split())[:200]), f"{new}-title", now))
    parent = ""
    for seq, (body, own, at) in enumerate(made, 1):
        yield encode(Record(seq, own, parent, at, body))
        parent = own if isinstance(body, MessageRecord) else parent


def _said(tree: Tree, scrubber: Scrubber | None, found: Counter[str]) -> Iterator[Said]:
    for message_id in tree.fold.path(tree.fold.state.leaf):
        record = record_at(tree.descriptor, tree.fold.nodes[message_id].place)
        if scrubber is not None:
            record = decode(scrubber.line(encode(record), found))
        body = record.body
        assert isinstance(body, MessageRecord)
        yield Said(body.message, record.at, body.cost_usd)


def _writer(form: str) -> Callable[[Transcript], bytes]:
    if form == "markdown":
        from wisp.exchange.markdown import markdown

        return markdown
    if form == "html":
        from wisp.exchange.page import html_page

        return html_page
    if form == "atif":
        from wisp.exchange.atif import atif

        return atif
    if form == "claude":
        from wisp.exchange.claude import claude_lines

        return claude_lines
    raise OpenFailed(f"{form!r} is no format; use {', '.join(FORMATS)}", 2)


def _reader(source: str) -> Callable[[bytes], Imported]:
    if source == "claude":
        from wisp.exchange.claude import read_claude

        return read_claude
    if source == "codex":
        from wisp.exchange.codex import read_codex

        return read_codex
    from wisp.exchange.pi import read_pi

    return read_pi
