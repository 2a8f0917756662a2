"""`wisp sessions`: what was said before, listed, found, shown, branched, named, kept, mended, thrown away."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from wisp.frontends.cli.exitcodes import FAILED, OK
from wisp.frontends.cli.invocation import Invocation, Parser, UsageError
from wisp.frontends.cli.options import amount
from wisp.frontends.cli.print import write_json
from wisp.frontends.cli.small import attempt
from wisp.frontends.cli.streams import complain, say
from wisp.frontends.cli.terminal import confirmed
from wisp.host.library import SessionContent, SessionInfo
from wisp.host.showing import Shown, flat, named, nearest, one_line, safe
from wisp.messages.ids import iso
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage

if TYPE_CHECKING:
    from wisp.host.exchanging import Arrived, Exported
    from wisp.host.replaying import Answered, Compared, Rebuilt
    from wisp.host.store import Entry, Made, SessionStore

VERBS = {
    "list": "[--here] [--archive | --trash] [--json]",
    "find": "TEXT [--here] [--json]",
    "show": "ID [--last N] [--json]",
    "tree": "ID [--go ENTRY | --back] [--json]",
    "fork": "ID[@ENTRY]",
    "clone": "ID",
    "rename": "ID NAME",
    "label": "ID ENTRY [LABEL]",
    "archive": "ID",
    "rm": "ID [--yes]",
    "restore": "ID",
    "prune": "[--older-than DAYS] [--yes]",
    "repair": "ID|FILE [--output FILE] [--yes]",
    "scrub": "ID [--yes]",
    "export": "ID [--format markdown|html|atif|claude] [--output FILE] [--keep-secrets]",
    "replay": "ID [--at ENTRY] [--model OTHER | --policy FILE] [--json]",
    "import": "FILE [--from claude|codex|pi]",
}
"""What can be done, and with what."""
_WORDS = {"list": (0, 0), "prune": (0, 0), "rename": (2, 2), "label": (2, 3)}
"""How many words a verb takes; one if it does not stand here."""


class Library(Protocol):
    """What `host.small.HostLibrary` offers for these commands."""

    def store(self) -> SessionStore: ...
    def folder(self) -> str: ...
    def session(self, prefix: str, last: int = 0) -> SessionContent: ...
    def scrub(self, prefix: str, *, do_it: bool) -> ScrubLike: ...
    def export(self, prefix: str, form: str, *, scrub: bool) -> Exported: ...
    def import_session(self, file: str, source: str = "") -> Arrived: ...
    def rebuilt(self, prefix: str, entry: str = "") -> Iterable[Rebuilt]: ...
    def ask_other(self, one: Rebuilt) -> Answered: ...
    def compared(self, prefix: str, file: str) -> Iterable[Compared]: ...


class ScrubLike(Protocol):
    """What `host.scrubbing.ScrubReport` tells."""

    @property
    def found(self) -> dict[str, int]: ...
    @property
    def lines(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def outputs(self) -> int: ...


def parse_sessions(argv: list[str]) -> Invocation:
    """Read the words after `wisp sessions`.

    Raises:
        UsageError: they make no sense.
    """
    usage = "\n       ".join(f"wisp sessions {verb} {rest}" for verb, rest in VERBS.items())
    parser = Parser(
        prog="wisp sessions",
        usage=usage,
        description="What was said before. An ID may be cut short as long as it is the only one; an ENTRY is "
        "a number of 'wisp sessions tree ID', a label, or the beginning of a message's id. "
        "'fork' begins a session at an entry, 'clone' copies all branches. 'rm' moves to the trash, where "
        "'restore' finds it for 30 days. 'repair' says what is wrong and mends it, the old file is kept. "
        "'scrub' takes known credentials, and what looks like one, out; 'export' does so in what it "
        "writes, to standard output unless told where. 'replay' makes every request again, byte for byte, "
        "and compares it with what was sent; with --at it writes that one, with --model another model is "
        "asked it, with --policy every call is held against other permissions. Nothing is run. "
        "'import' makes a session of another agent's file.",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    for flag, text in (
        ("--json", "one object a line"),
        ("--yes", "do it without asking"),
        ("--here", "only of this folder"),
        ("--archive", "those put away"),
        ("--trash", "those thrown away"),
        ("--back", "take the last move between branches back"),
    ):
        parser.add_argument(flag, action="store_true", help=text)
    parser.add_argument("--last", metavar="N", type=int, default=0, help="only the last messages")
    parser.add_argument("--go", metavar="ENTRY", help="go on from another message")
    parser.add_argument("--older-than", metavar="DAYS", type=amount, help="not used for so long")
    parser.add_argument("--output", "-o", metavar="FILE", default="", help="where a copy goes")
    parser.add_argument("--format", metavar="FORMAT", default="", help="of an export; told by FILE's ending")
    parser.add_argument("--keep-secrets", action="store_true", help="export credentials too")
    parser.add_argument("--from", metavar="AGENT", dest="source", default="", help="whose file it is")
    parser.add_argument("--at", metavar="ENTRY", default="", help="the request that this answers, or follows")
    parser.add_argument(
        "--model", metavar="OTHER", default="", help="ask this one, at the last request or --at"
    )
    parser.add_argument("--policy", metavar="FILE", default="", help="settings with other permissions")
    parser.add_argument("--session-dir", metavar="DIR")
    found = parser.parse_args(argv)
    verb, *rest = found.words or ["list"]
    if verb not in VERBS:
        meant = nearest(verb, VERBS)
        raise UsageError(f"there is no 'wisp sessions' {verb!r}{meant}; use {', '.join(VERBS)}")
    least, most = _WORDS.get(verb, (1, 1))
    if not least <= len(rest) <= most or (found.last or 0) < 0:
        raise UsageError(f"use 'wisp sessions {verb} {VERBS[verb]}'".rstrip())
    if found.policy and (found.model or found.at):
        raise UsageError("--policy looks at every call; it goes with neither --model nor --at")
    given = {"session_dir": found.session_dir, "model": found.model}
    settings = {name: value for name, value in given.items() if value}
    return Invocation(
        "sessions", settings, words=[verb, *rest], json=found.json, yes=found.yes, given=vars(found)
    )


def run_sessions(invocation: Invocation, library: Library) -> int:
    """Do the command; returns the exit code."""
    verb, *words = invocation.words
    return attempt(lambda: _VERBS[verb](words, invocation, library))


def _list(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    given = invocation.given
    shelf = "archive" if given["archive"] else "trash" if given["trash"] else ""
    infos = library.store().listed(library.folder() if given["here"] else None, shelf)
    for info in infos:
        if invocation.json:
            write_json(_row(info))
        else:
            say(_line(info))
    if not infos and not invocation.json:
        say(safe("nothing there" if shelf else "no sessions yet"))
    return OK


def _row(info: SessionInfo) -> dict[str, Any]:
    row = {"id": info.id, "cwd": info.cwd, "title": info.title, "name": info.name, "path": info.path}
    return {**row, "modified": iso(info.modified), "bytes": info.size}


def _line(info: SessionInfo) -> Shown:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.modified))
    title = one_line(info.name or info.title, 60) or "(empty)"
    return safe(f"{named(info.id)}  {when}  {title}  {named(info.cwd)}")


def _find(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    here = library.folder() if invocation.given["here"] else None
    count = 0
    for shown in library.store().find(words[0], here):
        count += 1
        if invocation.json:
            rows = [{"entry": m.entry, "kind": m.kind, "text": m.text} for m in shown.matches]
            write_json({**_row(shown.info), "shelf": shown.info.shelf, "matches": rows})
            continue
        shelf = f"  [{shown.info.shelf}]" if shown.info.shelf else ""
        say(safe(_line(shown.info) + shelf))
        for match in shown.matches:
            say(safe(f"    {match.kind} {named(match.entry)}: {one_line(match.text, 160)}"))
    if not count and not invocation.json:
        say(safe(f"nothing was said with {words[0]!r} in it"))
    return OK if count else FAILED


def _show(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    content = library.session(words[0], invocation.given["last"])
    if invocation.json:
        import msgspec

        messages = [msgspec.to_builtins(message) for message in content.messages]
        head = {"id": content.session_id, "cwd": content.cwd, "notes": content.notes}
        write_json({**head, "messages": messages})
        return OK
    for note in content.notes:
        say(flat(f"[{note}]"))
    for message in content.messages:
        if isinstance(message, UserMessage):
            say(safe(f"user: {message.text}"))
        elif isinstance(message, AssistantMessage):
            say(safe(f"wisp: {message.text}"))
            for call in message.calls:
                say(safe(f"  call {named(call.id)}: {named(call.name)} {one_line(call.arguments)}"))
        elif isinstance(message, ToolResult):
            mark = "failed" if message.is_error else "ok"
            say(safe(f"  result {named(message.call_id)} ({mark}): {one_line(message.text)}"))
        else:
            say(safe(f"note: {message.text}"))
    return OK


def _tree(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    store, given = library.store(), invocation.given
    if given["go"]:
        say(safe(f"goes on from {_entry(store.go(words[0], given['go']))}"))
        return OK
    if given["back"]:
        back = store.back(words[0])
        say(safe(f"goes on from {_entry(back)}" if back else "goes on from the beginning"))
        return OK
    found = store.tree(words[0])
    if not invocation.json:
        print_tree(found)
        return OK
    for entry in found:
        names = ("number", "id", "parent", "kind", "text", "label", "current", "leaf")
        write_json({name: getattr(entry, name) for name in names})
    return OK


def print_tree(found: Sequence[Entry]) -> None:
    """A line a message; `*` where the conversation stands, `|` on the way there."""
    for entry in found:
        mark = "*" if entry.leaf else "|" if entry.current else " "
        say(safe(f"{'    ' * entry.depth}{mark} {_entry(entry)}"))
    sys.stdout.flush()


def _entry(entry: Entry) -> Shown:
    label = f"  [{named(entry.label)}]" if entry.label else ""
    return safe(f"{entry.number} {entry.kind}: {one_line(entry.text, 80)}{label}")


def _fork(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    prefix, _, entry = words[0].partition("@")
    return _made(library.store().fork(prefix, entry), "forked")


def _clone(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    return _made(library.store().clone(words[0]), "cloned")


def _made(made: Made, what: str) -> int:
    say(safe(made.id))
    complain(safe(f"{what}: {made.messages} messages; go on with 'wisp --resume {made.id}'"))
    return OK


def _rename(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    library.store().rename(words[0], words[1])
    return OK


def _label(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    entry = library.store().label(words[0], words[1], words[2] if len(words) == 3 else "")
    say(_entry(entry))
    return OK


def _archive(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    info = library.store().archive(words[0])
    say(safe(f"{named(info.id)} is in the archive; 'wisp sessions restore {named(info.id)}' brings it back"))
    return OK


def _rm(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    store = library.store()
    if not invocation.yes:
        content = library.session(words[0], 1)
        say(safe(f"{named(content.session_id)} of {named(content.cwd)}"))
        if not confirmed():
            return FAILED
    info = store.remove(words[0])
    name = named(info.id)
    say(safe(f"{name} is in the trash for 30 days; 'wisp sessions restore {name}' brings it back"))
    return OK


def _restore(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    info = library.store().restore(words[0])
    say(safe(f"{named(info.id)} is back"))
    return OK


def _prune(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    store, days = library.store(), invocation.given["older_than"]
    going = store.prune(days, do_it=False)
    for info in going:
        say(safe(f"{'delete for ever' if info.shelf else 'to the trash':15}  {_line(info)}"))
    if not going:
        say(safe("nothing to throw away"))
        return OK
    if not invocation.yes and not confirmed():
        return FAILED
    say(safe(f"done: {len(store.prune(days, do_it=True))} sessions"))
    return OK


def _repair(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    store, output = library.store(), invocation.given["output"]
    faults, _ = store.repair(words[0], do_it=False)
    whole = f"{faults.records} whole records, {faults.messages} messages in the conversation"
    say(safe(f"{named(faults.path)}: {whole}"))
    for sentence in faults.found:
        say(safe(f"  {flat(sentence)}"))
    for sentence in faults.open_calls:
        say(safe(f"  when it goes on: {flat(sentence)}"))
    if not faults.found and not output:
        say(safe("nothing is damaged"))
        return OK
    if not invocation.yes and not output and not confirmed():
        return FAILED
    _, other = store.repair(words[0], do_it=True, output=output)
    which = "the copy" if output or other.endswith(".mended.jsonl") else "the old file"
    say(safe(f"mended; {which} is {named(other)}"))
    return OK


def _scrub(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    """Say what would be taken out, ask unless told not to, do it."""
    report = library.scrub(words[0], do_it=False)
    if not report.found:
        say(safe("no credentials were found; the session is as it was"))
        return OK
    for kind, count in report.found.items():
        say(safe(f"{count:6}  [scrubbed:{named(kind)}]"))
    if report.lines:
        say(safe(f"in {report.lines} records, the first is line {report.first}"))
    if report.outputs:
        say(safe(f"in {report.outputs} kept outputs of commands, which are deleted whole"))
    if not invocation.yes and not confirmed():
        return FAILED
    library.scrub(words[0], do_it=True)
    changed = (
        f"; from line {report.first} on the session is no longer what was sent, so that recorded "
        "responses (--replay) do not fit it"
    )
    say(
        safe(
            f"done{changed if report.lines else ''}. Copies elsewhere were not touched: snapshots for undo, "
            "forks, backups, the provider's own logs. A key that was seen is best replaced."
        )
    )
    return OK


def _export(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    from wisp.frontends.cli.exchange import export

    return export(words[0], invocation.given, library.export)


def _replay(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    from wisp.frontends.cli.replay import replay

    return replay(words[0], invocation, library)


def _import(words: Sequence[str], invocation: Invocation, library: Library) -> int:
    from wisp.frontends.cli.exchange import bring_in

    return bring_in(library.import_session(words[0], invocation.given["source"]))


_VERBS: dict[str, Callable[[Sequence[str], Invocation, Library], int]] = {
    "list": _list,
    "find": _find,
    "show": _show,
    "tree": _tree,
    "fork": _fork,
    "clone": _clone,
    "rename": _rename,
    "label": _label,
    "archive": _archive,
    "rm": _rm,
    "restore": _restore,
    "prune": _prune,
    "repair": _repair,
    "scrub": _scrub,
    "export": _export,
    "replay": _replay,
    "import": _import,
}
