"""Whether a command is one that common development programs do in a project: `bash(@everyday)`.

A person who allows this agrees that the project's own build, tests and scripts run with their rights.  What
is left to check is that the words say no more than that: a listed program, every option on its list, nothing
named outside the workspace, no secret, no code as an argument, no address.  The tables: `policy.common`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from wisp.policy.common import (
    ASSIGNMENTS,
    INLINE,
    MODULES,
    NAMES_ANOTHER,
    OUTWARD,
    OWN_SCRIPTS,
    SCRIPTS,
    SETTINGS,
    SWITCHES,
    TABLES,
    WHOLE,
    WRAPPERS,
)
from wisp.policy.programs import runs_others
from wisp.policy.reading import inside
from wisp.policy.shell import Word

_TASK = re.compile(r":?[A-Za-z0-9_][A-Za-z0-9_:./+-]*")
_FREE = re.compile(r"[^\x00-\x1f]*")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SPLIT = re.compile(r"[\s=:,;]+")
_GUARDED = re.compile(
    r"(^|/)(\.(?!(venv|github|gitignore|bin|tox|nox|cache|[a-z]+_cache|storybook|build|next|coverage)(/|$))"
    r"[a-z_][^/]*"
    r"|(mcp\.json|sitecustomize\.py|usercustomize\.py|conftest\.py|makefile|gnumakefile|lefthook\.yml|git~[0-9]"
    r"|library/launchagents)[. ]*)(/|$)",
    re.IGNORECASE,
)
"""Names that something may run by itself, and hidden ones but for a few: no listed program writes one."""
_HIDDEN_GLOB = re.compile(r"(^|/)\.[^/]*[*?\[]|[*?\[].*/\.(?!/)")
"""A pattern that may find hidden names, some of which are guarded."""
_SCRIPT = re.compile(r"(\./)?([A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_INSTALLED = re.compile(
    r"(\./)?(\.venv|venv|\.env|env|node_modules/\.bin|vendor/bin|bin|scripts?|tools|dev|\.)(/bin)?/[A-Za-z0-9_.-]+"
)
_ACTIVATE = re.compile(r"(\./)?[A-Za-z0-9_.][A-Za-z0-9_-]*/bin/activate")
_SHORT_ARGUMENT = re.compile(r"-[vqskxtnumafgb]+|-[0-9]+|-j[0-9]*")
_LONG_ARGUMENT = re.compile(r"--[A-Za-z][A-Za-z0-9_.-]*(=.*)?", re.DOTALL)
_LINT = re.compile(r"-[DWAF]|-[DWAF][a-z0-9_:]+|[a-z][a-z0-9_:]*")
_MODES = frozenset(("+x", "a+x", "u+x", "755"))
_DEEPEST = 4


class _Form(NamedTuple):
    """What one program, with its subcommand, may be given."""

    operands: str
    flags: frozenset[str]
    valued: dict[str, str]
    rest: str


def everyday(words: Sequence[Word], root: str) -> bool:
    """Whether one simple command is on the list, beneath `root`."""
    rest = list(words)
    while rest and rest[0].assigns:
        if not _switches(rest.pop(0)):
            return False
    return bool(rest) and not any(word.assigns for word in rest) and _listed(rest, root, 0)


def _switches(word: str) -> bool:
    """Whether an assignment only switches something on or off."""
    return word in ASSIGNMENTS or re.fullmatch(SWITCHES, word) is not None


def _listed(words: Sequence[Word], root: str, depth: int) -> bool:
    if depth > _DEEPEST or not words or words[0].glob:
        return False
    name, arguments = words[0], words[1:]
    if "/" in name:
        return _by_path(words, root, depth)
    if re.fullmatch(r"python(3(\.[0-9]+)?)?", name):
        return _python(arguments, root, depth)
    if name in ("source", "."):
        return (
            len(arguments) == 1
            and _ACTIVATE.fullmatch(arguments[0]) is not None
            and _safe(arguments[0], root)
        )
    if name == "chmod":
        return len(arguments) > 1 and arguments[0] in _MODES and _paths(arguments[1:], root)
    if name == "export":
        return bool(arguments) and all(map(_switches, arguments))
    if name in ("sh", "bash"):
        while arguments and arguments[0] in ("-e", "-x", "-u", "-eu", "-ex", "-eux"):
            arguments = arguments[1:]
        return _script(arguments, root, (".sh", ".bash"))
    if name == "node":
        return _node(arguments, root)
    if name in ("ruby", "php"):
        return _interpreted(name, arguments, root, depth)
    if name == "coverage" and arguments[:1] == ["run"]:
        return _coverage(arguments[1:], root, depth)
    if name == "git" and arguments[:1] == ["--no-pager"]:
        words = [name, *arguments[1:]]
    if words[:2] == ["git", "checkout"]:  # what stands behind a name is a path, whose changes would be lost
        new = words[2:3] == ["-b"]
        if not new and sum(not word.startswith("-") for word in words[2:]) != 1:
            return False
        if new and sum(not word.startswith("-") for word in words[3:]) > 2:
            return False
    if name in ("yarn", "pnpm") and arguments and arguments[0].split(":", 1)[0] in SCRIPTS:
        words = words if arguments[0] == "test" else [name, Word("run"), *arguments]
    return _wrapped(words, root, depth) or _in_tables(words, root)


def _by_path(words: Sequence[Word], root: str, depth: int) -> bool:
    """A program named by its place: an installed one goes by its name, any other is the project's."""
    place = words[0]
    base = Word(place.rsplit("/", 1)[-1])
    if not _safe(place, root) or place.startswith("/"):
        return False
    known = base in _heads() or base in ("yarn", "pnpm") or re.fullmatch(r"python[0-9.]*|node|ruby|php", base)
    if known:
        return _INSTALLED.fullmatch(place) is not None and _listed([base, *words[1:]], root, depth + 1)
    if runs_others(base) and base not in NAMES_ANOTHER:
        return False
    return _script(words, root, ("",))


def _script(words: Sequence[Word], root: str, endings: tuple[str, ...]) -> bool:
    """A file of the project, and arguments for it."""
    if not words or not _SCRIPT.fullmatch(words[0]) or not words[0].endswith(endings):
        return False
    return not _outward(words[0]) and _safe(words[0], root) and _arguments(words[1:], root)


def _python(words: Sequence[Word], root: str, depth: int) -> bool:
    rest = list(words)
    while rest and rest[0] in ("-B", "-u", "-O", "-s", "-E", "-I", "-W", "-X"):
        if rest.pop(0) in ("-W", "-X") and not (
            rest and re.fullmatch(r"error|default|ignore|always|dev|utf8", rest.pop(0))
        ):
            return False
    if len(rest) > 1 and rest[0] == "-m":
        module = rest[1]
        if f"@{module}" in _heads():
            return _in_tables([Word(f"@{module}"), *rest[2:]], root)
        if module == "sphinx":
            return _in_tables([Word("sphinx-build"), *rest[2:]], root)
        return module in MODULES and _listed([Word(module.replace("_", "-")), *rest[2:]], root, depth + 1)
    return _script(rest, root, (".py",))


def _coverage(words: Sequence[Word], root: str, depth: int) -> bool:
    rest = list(words)
    while rest and re.fullmatch(
        r"-p|-a|--parallel-mode|--append|--branch|--source=[A-Za-z0-9_./,-]+", rest[0]
    ):
        if not _safe(rest.pop(0), root):
            return False
    return _python([word for word in rest if word != "./"], root, depth + 1)


def _node(words: Sequence[Word], root: str) -> bool:
    if words[:1] == ["--test"]:
        return all(_safe(word, root) and not word.startswith("-") for word in words[1:])
    return _script(words, root, (".js", ".mjs", ".cjs"))


def _interpreted(name: str, words: Sequence[Word], root: str, depth: int) -> bool:
    if name == "php" and words and (words[0] == "artisan" or words[0].startswith("vendor/bin/")):
        return _listed([Word(words[0].rsplit("/", 1)[-1]), *words[1:]], root, depth + 1)
    rest = list(words)
    while name == "ruby" and rest and rest[0] in ("-Itest", "-Ilib", "-Ispec", "-w"):
        rest.pop(0)
    return _script(rest, root, (".rb",) if name == "ruby" else (".php",))


def _paths(words: Sequence[Word], root: str) -> bool:
    return all(not word.startswith("-") and _operand("paths", word, root) for word in words)


def _wrapped(words: Sequence[Word], root: str, depth: int) -> bool:
    """A program that only starts another of the list."""
    for length in (2, 1):
        head = " ".join(words[:length])
        if len(words) <= length or head not in WRAPPERS:
            continue
        flags, valued, _ = _notation(WRAPPERS[head])
        rest = list(words[length:])
        while rest and rest[0].startswith("-"):
            option, equals, value = rest.pop(0).partition("=")
            if option in valued and (equals or option not in flags):
                value = value if equals else rest.pop(0) if rest else ""
                if not re.fullmatch(valued[option] or r"[A-Za-z0-9_.][A-Za-z0-9_.-]*", value):
                    return False
            elif equals or option not in flags:
                return False
        if head == "timeout" and not (rest and re.fullmatch(r"[0-9.]+[smh]?", rest.pop(0))):
            return False
        if head in OWN_SCRIPTS and len(rest) == 1 and rest[0].rsplit(":", 1)[-1] in SCRIPTS:
            return _TASK.fullmatch(rest[0]) is not None
        return _listed(rest, root, depth + 1)
    return False


def _in_tables(words: Sequence[Word], root: str) -> bool:
    for length in (3, 2, 1):
        if len(words) == 2 and words[1] in ("--version", "--help") and words[0] in _heads():
            return True
        form = _forms().get(" ".join(words[:length])) if len(words) >= length else None
        if form is not None:
            return _fits(form, words[0], words[length:], root)
    return False


def _fits(form: _Form, program: str, words: Sequence[Word], root: str) -> bool:
    settings = SETTINGS.get(program)
    rest: Iterator[Word] = iter(words)
    for word in rest:
        if word == "--":
            return _behind(form, list(rest), root)
        if settings and not word.glob and re.fullmatch(settings, word):
            continue
        if word.startswith("-"):
            if word.glob or not _option(form, program, word, rest, root):
                return False
        elif not _operand(form.operands, word, root):
            return False
        elif form.rest == "passed":
            return _arguments(list(rest), root)
    return True


def _option(form: _Form, program: str, word: Word, rest: Iterator[Word], root: str) -> bool:
    if word.startswith("--") or program in WHOLE:
        name, equals, value = word.partition("=")
        if program in WHOLE and name.startswith("--"):
            name = name[1:] if name[1:] in form.flags or name[1:] in form.valued else name
        if not equals:
            if name in form.flags:
                return True
            if name not in form.valued:
                return False
            value = next(rest, Word(""))
        return name in form.valued and _value(form.valued[name], value, root)
    if word[1:].isdigit():
        return "-0" in form.flags
    for place, letter in enumerate(word[1:], 2):
        name = f"-{letter}"
        if name in form.valued and (place < len(word) or name not in form.flags):
            joined = word[place:]
            if joined and name in form.flags and not joined.isdigit():
                return False
            return _value(form.valued[name], joined or next(rest, Word("")), root)
        if name not in form.flags or name == "-0":
            return False
    return len(word) > 1


def _value(pattern: str, value: str, root: str) -> bool:
    """Whether an option may have this value; one that looks like an option could be one."""
    if not value or value.startswith("-") or getattr(value, "glob", False):
        return False
    if pattern == "*":
        return _FREE.fullmatch(value) is not None
    return (not pattern or re.fullmatch(pattern, value) is not None) and _safe(value, root)


def _operand(kind: str, word: Word, root: str) -> bool:
    if kind == "none":
        return False
    if kind in ("paths", "files"):
        return bool(word) and _safe(word, root, guarded=kind == "paths")
    if word.glob or not _safe(word, root, guarded=False):
        return False
    if kind == "tasks":
        return _TASK.fullmatch(word) is not None and not _outward(word)
    return re.fullmatch(kind, word) is not None


def _behind(form: _Form, words: Sequence[Word], root: str) -> bool:
    """Whether these may stand behind `--`."""
    if form.rest in ("args", "passed"):
        return _arguments(words, root)
    if form.rest == "lints":
        return all(_LINT.fullmatch(word) for word in words)
    if form.rest == "fmt":
        return all(word == "--check" for word in words)
    return form.rest == "paths" and all(
        not word.startswith("-") and _operand(form.operands, word, root) for word in words
    )


def _arguments(words: Sequence[Word], root: str) -> bool:
    """Arguments for the project's own program: nothing outside, no code, no place to load code from."""
    for word in words:
        if word.startswith("-") and word != "--":
            long = _LONG_ARGUMENT.fullmatch(word)
            if not long and not _SHORT_ARGUMENT.fullmatch(word):
                return False
            if word.partition("=")[0].lower() in INLINE:
                return False
        elif re.fullmatch(r"[A-Za-z0-9_:-]+", word) and _outward(word):
            return False
        if word != "--" and not _safe(word, root):
            return False
    return True


def _outward(name: str) -> bool:
    """Whether the name of a task or script says that it leaves the workspace."""
    name = name.removeprefix("./").removeprefix("target/release/").removeprefix("setup.py")
    return any(part.lower() in OUTWARD for part in _PARTS.findall(name))


def _safe(word: str, root: str, *, guarded: bool = True) -> bool:
    """Whether no part of a word is outside, secret, an address, or a name that something runs by itself."""
    if word in ("", "-") or word.startswith("@") or not word.isascii() or not word.isprintable():
        return False
    if getattr(word, "glob", False) and _HIDDEN_GLOB.search(word):
        return False
    if "://" in word or word.startswith("ext::") or "\\" in word:
        return False
    for part in (word, *_SPLIT.split(word)):
        if not part:
            continue
        bare = Word(part.lstrip("-+^!"))
        if not inside(bare, root) or bare in ("..", "~") or (guarded and _GUARDED.search(bare)):
            return False
    return not (word.startswith("-") and "=" not in word and "/" in word)


def _notation(options: str) -> tuple[frozenset[str], dict[str, str], str]:
    flags: set[str] = set()
    valued: dict[str, str] = {}
    rest = ""
    for token in options.split():
        name, equals, pattern = token.partition("=")
        if token.startswith("+"):
            rest = token[1:]
        elif equals:
            valued[name] = pattern
        else:
            flags.add(name)
    return frozenset(flags), valued, rest


@cache
def _forms() -> dict[str, _Form]:
    """The tables, by program and subcommand."""
    found: dict[str, _Form] = {}
    for line in "".join(TABLES).strip().splitlines():
        if not line:
            continue
        heads, rest = line.split(" | ", 1)
        operands, _, options = rest.rpartition(" |")
        flags, valued, behind = _notation(options)
        for head in heads.split(", "):
            letters = {f"-{letter}" for flag in flags if not flag.startswith("--") for letter in flag[1:]}
            whole = head.split(" ", 1)[0] in WHOLE
            found[head] = _Form(operands, flags if whole else flags | letters, valued, behind)
    return found


@cache
def _heads() -> frozenset[str]:
    """Every program of the tables."""
    return frozenset(head.split(" ", 1)[0] for head in _forms())
