"""The small commands around a run: models, trust, config, doctor.  Each prints and exits."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from wisp.frontends.cli.exitcodes import CONFIGURATION, FAILED, OK, REFUSED, USAGE
from wisp.frontends.cli.invocation import Invocation, Parser, UsageError
from wisp.frontends.cli.print import write_json
from wisp.frontends.cli.streams import complain, hand_over, say
from wisp.frontends.cli.terminal import confirmed
from wisp.host.client import OpenFailed
from wisp.host.showing import flat, named, one_line, safe


class Library(Protocol):
    """What `host.small.HostLibrary` offers: everything the small commands need to know."""

    def models(self, words: str = "", *, all_: bool = False) -> list[dict[str, Any]]: ...
    def catalogue_note(self) -> str: ...
    def refresh_models(self, address: str) -> str: ...
    def trust(self, verb: str, folder: str) -> str: ...
    def judge(self, command: str) -> tuple[str, str]: ...
    def rules(self) -> list[tuple[str, str]]: ...
    def skills(self) -> tuple[list[dict[str, str]], tuple[str, ...]]: ...
    def validate_skill(self, path: str) -> list[str]: ...
    def config(self) -> list[dict[str, Any]]: ...
    def set_setting(self, key: str, value: str | None) -> str: ...
    def settings_schema(self) -> dict[str, Any]: ...
    def settings_file(self) -> tuple[str, str]: ...
    def settings_problems(self) -> list[str]: ...
    def doctor(self) -> list[dict[str, str]]: ...
    def hooks(self) -> list[dict[str, str]]: ...
    def undo(self, *, redo: bool, one_turn: bool, prefix: str) -> UndoLike: ...


class UndoLike(Protocol):
    """What `host.undo.FileUndo` offers."""

    notes: tuple[str, ...]

    def preview(self) -> Sequence[ChangeLike]: ...
    def uncovered(self) -> Sequence[tuple[str, str]]: ...
    def apply(self, *, chat: bool) -> Sequence[ChangeLike]: ...
    def close(self) -> None: ...


class ChangeLike(Protocol):
    """One path that an undo changes."""

    @property
    def path(self) -> str: ...
    @property
    def what(self) -> str: ...


def run_small(invocation: Invocation, library: Library) -> int:
    """Do the command; returns the exit code."""
    return attempt(lambda: _do(invocation, library))


def _do(invocation: Invocation, library: Library) -> int:
    """The command; what shows settings says first which of them cannot be read and do not count."""
    verb = invocation.words[0] if invocation.words else ""
    if invocation.command in ("models", "permissions", "hooks", "skills") or (
        invocation.command == "config" and verb in ("", "show")
    ):
        for problem in library.settings_problems():
            complain(flat(f"wisp: {problem}"))
    return _COMMANDS[invocation.command](invocation, library)


def attempt(work: Callable[[], int]) -> int:
    """Do a small command; what it could not do is told in one sentence."""
    try:
        return work()
    except OpenFailed as exc:
        complain(safe(f"wisp: {exc!s}"))
        return exc.exit_code
    except BrokenPipeError:
        raise
    except (LookupError, OSError, UnicodeDecodeError) as exc:
        said = exc.args[0] if isinstance(exc, LookupError) and exc.args else exc
        if isinstance(exc, OSError) and exc.filename and exc.strerror:
            said = f"{named(os.fsdecode(exc.filename))}: {exc.strerror}"
        complain(safe(f"wisp: {said!s}"))
        return FAILED


def _usage(text: str) -> int:
    complain(safe(f"wisp: {text}"))
    return USAGE


def _completion(invocation: Invocation, library: Library) -> int:
    from wisp.frontends.cli.completion import SHELLS, completion

    if list(invocation.words) not in [[shell] for shell in SHELLS]:
        return _usage(f"say which shell: wisp completion {'|'.join(SHELLS)}")
    hand_over(completion(invocation.words[0]))
    return OK


def _skills(invocation: Invocation, library: Library) -> int:
    verb, *rest = invocation.words or ["list"]
    if verb == "validate" and rest:
        return max(_validate(path, library.validate_skill(path)) for path in rest)
    if verb != "list" or rest:
        return _usage("use 'wisp skills list' or 'wisp skills validate DIR'")
    rows, notes = library.skills()
    for note in notes:
        complain(flat(note))
    for row in rows:
        if invocation.json:
            write_json(row)
        else:
            say(one_line(f"/{row['name']:24} {row['description'] or row['kind']}  ({row['source']})"))
    return OK


def _validate(path: str, faults: list[str]) -> int:
    if not faults:
        say(safe(f"{named(path)}: a valid skill"))
        return OK
    complain(safe(f"{named(path)}:"))
    for fault in faults:
        complain(safe(f"  - {flat(fault)}"))
    return FAILED


def _models(invocation: Invocation, library: Library) -> int:
    if invocation.refresh:
        say(safe(library.refresh_models(invocation.source)))
        return OK
    words = " ".join(invocation.words)
    rows = library.models(words, all_=invocation.all)
    if note := library.catalogue_note():
        complain(flat(f"wisp: {note}"))
    for row in rows:
        if invocation.json:
            write_json(row)
        else:
            window = f"{row['context_window']:,} tokens" if row["context_window"] else "window unknown"
            say(named(f"{row['provider']}/{row['model']}  {window}  {_price(row['price'])}  {row['status']}"))
    if rows or invocation.json:
        return OK
    say(
        safe(
            f"no model has {words!r} in its name"
            if words
            else "no models are configured; set a key, run 'wisp login', start a local server, or name one "
            "with --base-url URL --model ID; 'wisp models --all' lists what is known"
        )
    )
    return OK


def _price(price: dict[str, Any]) -> str:
    if price.get("input") is None or price.get("output") is None:
        return "price unknown"
    return f"${price['input']:g} in, ${price['output']:g} out"


def _trust(invocation: Invocation, library: Library) -> int:
    verb, *rest = invocation.words or ["status"]
    if verb not in ("status", "allow", "revoke", "forget"):
        return _usage("use 'wisp trust status|allow|revoke|forget [DIR]'")
    say(safe(library.trust(verb, rest[0] if rest else "")))
    return OK


def _permissions(invocation: Invocation, library: Library) -> int:
    verb, *rest = invocation.words or ["list"]
    if verb == "why" and len(rest) == 1:
        verdict, reason = library.judge(rest[0])
        say(safe(f"{verdict}: {reason}"))
        return {"allow": OK, "ask": FAILED, "deny": REFUSED}[verdict]
    if verb == "list" and not rest:
        for kind, rule in library.rules():
            say(named(f"{kind:5} {rule}"))
            if (kind, rule) == ("allow", "bash(@everyday)"):
                what = "what development programs do in a project; its build, tests and scripts are run"
                say(safe(f"      {what}"))
        return OK
    if verb == "test" and len(rest) == 1:
        return _permissions_test(rest[0], library)
    return _usage(
        "use \"wisp permissions why 'COMMAND'\", 'wisp permissions list' or 'wisp permissions test FILE'"
    )


def _permissions_test(path: str, library: Library) -> int:
    """Judge every line of a file: `COMMAND`, or `VERDICT<TAB>COMMAND` to check an expectation."""
    wrong = total = 0
    try:
        opened = open(path, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 - closed below
    except OSError as exc:
        return _usage(f"{path}: {exc.strerror}")
    with opened as file:
        for line in file:
            text = line.rstrip("\n")
            if not text or text.startswith("#"):
                continue
            head, tab, tail = text.partition("\t")
            expected, command = (head, tail) if tab and head in ("allow", "ask", "deny") else ("", text)
            verdict, reason = library.judge(command)
            total += 1
            missed = bool(expected) and verdict != expected
            wrong += missed
            note = f"  (expected {expected})" if missed else ""
            say(named(f"{verdict:5} {command}  [{reason}]{note}"))
    say(safe(f"{total} commands, {wrong} not as expected"))
    return FAILED if wrong else OK


_CONFIG = {"set": 2, "unset": 1, "edit": 0, "schema": 0}
"""How many words each takes."""


def _config(invocation: Invocation, library: Library) -> int:
    verb, *words = invocation.words or ["show"]
    if verb in _CONFIG and len(words) == _CONFIG[verb]:
        from wisp.frontends.cli import configuring

        return configuring.VERBS[verb](words, library)
    if [verb, *words] != ["show"]:
        return _usage("use 'wisp config show', 'set KEY VALUE', 'unset KEY', 'edit' or 'schema'")
    for row in library.config():
        if invocation.json:
            write_json(row)
        else:
            say(named(f"{row['name']} = {row['value']!r}  ({row['origin']})"))
    return OK


def _doctor(invocation: Invocation, library: Library) -> int:
    rows = library.doctor()
    if invocation.json:
        write_json({"findings": rows})
    else:
        for row in rows:
            say(named(f"{row['status']:8} {row['name']}: {row['detail']}"))
    return CONFIGURATION if any(row["status"] == "problem" for row in rows) else OK


def _hooks(invocation: Invocation, library: Library) -> int:
    """One line a hook."""
    if list(invocation.words or ["list"]) != ["list"]:
        return _usage("use 'wisp hooks list'")
    rows = library.hooks()
    if invocation.json:
        write_json({"hooks": rows})
    else:
        for row in rows:
            say(named(f"{row['event']:18} {row['matcher'] or '*':20} {row['command']}  ({row['source']})"))
        if not rows:
            say(safe("the settings name no hooks"))
    return OK


_VERBS = {"made": "bring back", "changed": "put back", "deleted": "remove"}


def _undo(invocation: Invocation, library: Library) -> int:
    """Show what would change, ask unless told not to, do it."""
    move = library.undo(
        redo=invocation.command == "redo", one_turn=invocation.one_turn, prefix=invocation.resume
    )
    try:
        for note in move.notes:
            complain(flat(f"wisp: {note}"))
        changes = move.preview()
        if not changes:
            say(safe("nothing differs; the files are as they were"))
        for change in changes:
            say(safe(f"{_VERBS[change.what]:10} {named(change.path)}"))
        for path, why in move.uncovered():
            say(safe(f"{'stays':10} {named(path)} (changed since, not covered: {flat(why)})"))
        if changes and not invocation.yes and not confirmed():
            return FAILED
        move.apply(chat=invocation.chat)
        if changes:
            again = "redo" if invocation.command == "undo" else "undo"
            say(safe(f"done: {len(changes)} paths; 'wisp {again}' takes it back"))
        return OK
    finally:
        move.close()


_COMMANDS = {
    "models": _models,
    "trust": _trust,
    "permissions": _permissions,
    "skills": _skills,
    "hooks": _hooks,
    "config": _config,
    "completion": _completion,
    "doctor": _doctor,
    "undo": _undo,
    "redo": _undo,
}


def parse_models(argv: list[str]) -> Invocation:
    """Read what follows `wisp models`."""
    parser = Parser(
        prog="wisp models",
        usage="wisp models [WORDS] [--all] [--json]\n       wisp models --refresh [--from URL]",
        description="The models you can use: configured, offered by a local server that runs, or of a vendor "
        "whose key is there. With WORDS or --all, those of every known vendor.",
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*")
    parser.add_argument("--all", action="store_true", help="every model that is known")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument(
        "--refresh", action="store_true", help="fetch newer data from models.dev; never done unasked"
    )
    parser.add_argument("--from", dest="source", metavar="URL", help="another source in the same format")
    found = parser.parse_args(argv)
    if found.source and not found.refresh:
        raise UsageError("--from belongs to --refresh; see 'wisp models --help'")
    if found.refresh and (found.words or found.all or found.json):
        raise UsageError("--refresh stands alone; list the models afterwards; see 'wisp models --help'")
    return Invocation(
        "models",
        words=found.words,
        json=found.json,
        all=found.all,
        refresh=found.refresh,
        source=found.source or "",
    )
