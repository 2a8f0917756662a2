"""Standing rules of the form `tool(pattern)`, and whether one covers an effect.

`read(...)` covers every reading effect, `edit(...)` and `write(...)` every writing one, whatever tool
has it; `bash(...)` covers commands.  A bare tool name covers all effects of that tool; `mcp__NAME` (or
`mcp__NAME__*`) covers all tools of the MCP server of that name.  Path patterns
are relative to the workspace root unless they begin with `/` or `**`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from wisp.messages.tool import Effect
from wisp.policy.command import allowed_by, denied_by

if TYPE_CHECKING:
    from wisp.policy.shell import Word

EVERYDAY = "@everyday"
SETS = (EVERYDAY,)
"""Patterns of `bash(...)` that stand for a set of commands: judged command by command."""
_FORM = re.compile(r"([A-Za-z0-9_*-]+)(?:\((.*)\))?", re.DOTALL)
_FAMILY = {"read": "read", "edit": "write", "write": "write", "bash": "execute", "web_fetch": "network"}


class BadRule(ValueError):
    """The text is not a rule; the message says what a rule looks like."""


class Rule(msgspec.Struct, frozen=True):
    """One parsed rule."""

    tool: str
    pattern: str | None
    text: str
    """As the user wrote it, for messages."""
    runs: str | None = None
    """For one granted during a session: `Effect.runs` as it was then; None binds to nothing."""


class Rules(msgspec.Struct, frozen=True):
    """All standing rules that hold; a deny rule wins over every allow rule."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


def parse_rule(text: str) -> Rule:
    """Read one rule.

    Raises:
        BadRule: it has not the form `tool` or `tool(pattern)`.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None or (found[2] is not None and not found[2].strip()):
        raise BadRule(f"{text!r} is not a rule; write for instance 'bash(git status)' or 'edit(src/**)'")
    if found[1] == "bash" and (found[2] or "").startswith("@") and found[2] not in SETS:
        raise BadRule(f"{text!r} names no set of rules that there is; known: {', '.join(SETS)}")
    if found[2] is not None and _FAMILY.get(found[1]) != "execute":
        try:
            _glob(found[2])
        except re.error as exc:
            raise BadRule(f"{text!r} has a bad pattern: {exc}") from None
    return Rule(found[1], found[2], text.strip())


def is_set(rule: Rule) -> bool:
    """Whether `rule` stands for one of `SETS`."""
    return rule.tool == "bash" and rule.pattern in SETS


def in_set(rule: Rule, words: Sequence[Word], root: str) -> bool:
    """Whether the set that `rule` stands for holds one simple command, beneath `root`."""
    from wisp.policy.everyday import everyday

    return rule.pattern == EVERYDAY and everyday(words, root)


def denies(rule: Rule, tool: str, effect: Effect, root: str) -> bool:
    """Whether a deny `rule` covers `effect` of `tool`; `*` in the rule's tool name stands for any letters."""
    if rule.pattern is None:
        return fnmatchcase(tool, rule.tool) or _of_server(tool, rule.tool)
    if _FAMILY.get(rule.tool, effect.kind if fnmatchcase(tool, rule.tool) else "") != effect.kind:
        return False
    if effect.kind == "execute":
        return denied_by(rule.pattern, effect.target)
    if effect.kind == "network":
        return _host(rule.pattern, effect.target)
    return _path(rule.pattern, effect.target, root)


def allows(rule: Rule, tool: str, effect: Effect, root: str) -> bool:
    """Whether an allow `rule` covers the whole of `effect` of `tool`."""
    if rule.pattern is None:
        return rule.tool == tool or _of_server(tool, rule.tool)
    if _FAMILY.get(rule.tool, effect.kind if rule.tool == tool else "") != effect.kind:
        return False
    if effect.kind == "execute":
        return not is_set(rule) and allowed_by(rule.pattern, effect.target)
    if effect.kind == "network":
        return _host(rule.pattern, effect.target)
    return _path(rule.pattern, effect.target, root)


def _of_server(tool: str, name: str) -> bool:
    """Whether `tool` is of the MCP server that a rule names; no server's part of a name holds `__`."""
    server = name.removesuffix("__*")
    return server.startswith("mcp__") and "__" not in server[5:] and tool.startswith(f"{server}__")


def _host(pattern: str, target: str) -> bool:
    """Whether a host is that of a rule, or below it with `*.`; a port is named where it is not the usual."""
    return fnmatchcase(target, pattern.removeprefix("domain:").lower())


def _path(pattern: str, target: str, root: str) -> bool:
    if pattern.endswith("/"):
        pattern += "**"
    if not pattern.startswith(("/", "**")):
        while pattern.startswith("./"):
            pattern = pattern[2:]
        return _glob(_literal(root.rstrip("/") + "/") + pattern).fullmatch(target) is not None
    return _glob(pattern).fullmatch(target) is not None


def _literal(text: str) -> str:
    """`text` as a pattern that matches only itself: wildcards in the root's name are letters."""
    return re.sub(r"([*?\[])", r"[\1]", text)


@lru_cache(maxsize=512)
def _glob(pattern: str) -> re.Pattern[str]:
    out, i = [], 0
    while i < len(pattern):
        char = pattern[i]
        if pattern.startswith("**/", i):
            out.append("(?:.*/)?")
            i += 3
        elif pattern.startswith("**", i):
            out.append(".*")
            i += 2
        elif char == "*":
            out.append("[^/]*")
            i += 1
        elif char == "?":
            out.append("[^/]")
            i += 1
        elif char == "[" and (end := pattern.find("]", i + 2)) > 0:
            out.append(_set(pattern[i + 1 : end]))
            i = end + 1
        else:
            out.append(re.escape(char))
            i += 1
    return re.compile("".join(out), re.DOTALL)


def _set(body: str) -> str:
    """One `[...]` as a regular expression: ranges kept, everything else a letter, never a `/`."""
    negated = body[0] == "!"
    safe = re.sub(r"([\\^\[\]&~|])", r"\\\1", body[1:] if negated else body)
    safe = safe.replace("--", r"\--")
    return f"(?!/)[{'^' if negated else ''}{safe}]"
