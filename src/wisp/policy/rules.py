"""Standing rules of the form `tool(pattern)`, and whether one covers an effect.

`read(...)` covers every reading effect, `edit(...)` and `write(...)` every writing one, whatever tool
has it; `bash(...)` covers commands.  A bare tool name covers all effects of that tool.  Path patterns
are relative to the workspace root unless they begin with `/` or `**`.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from wisp.messages.tool import Effect
from wisp.policy.command import allowed_by, denied_by

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
    if found is None or found[2] == "":
        raise BadRule(f"{text!r} is not a rule; write for instance 'bash(git status)' or 'edit(src/**)'")
    return Rule(found[1], found[2], text.strip())


def denies(rule: Rule, tool: str, effect: Effect, root: str) -> bool:
    """Whether a deny `rule` covers `effect` of `tool`."""
    if rule.pattern is None:
        return rule.tool in (tool, "*")
    if _FAMILY.get(rule.tool) == effect.kind:
        if effect.kind == "execute":
            return denied_by(rule.pattern, effect.target)
        return _path(rule.pattern, effect.target, root)
    return rule.tool == tool and _path(rule.pattern, effect.target, root)


def allows(rule: Rule, tool: str, effect: Effect, root: str) -> bool:
    """Whether an allow `rule` covers the whole of `effect` of `tool`."""
    if rule.pattern is None:
        return rule.tool == tool
    if _FAMILY.get(rule.tool) == effect.kind:
        if effect.kind == "execute":
            return allowed_by(rule.pattern, effect.target)
        return _path(rule.pattern, effect.target, root)
    return rule.tool == tool and _path(rule.pattern, effect.target, root)


def _path(pattern: str, target: str, root: str) -> bool:
    if not pattern.startswith(("/", "**")):
        pattern = root.rstrip("/") + "/" + pattern
        pattern = _escape_root(pattern, root)
    return _glob(pattern).fullmatch(target) is not None


def _escape_root(pattern: str, root: str) -> str:
    """Wildcards in the root's own name are letters, not wildcards."""
    prefix = root.rstrip("/") + "/"
    return re.sub(r"([*?\[])", r"[\1]", prefix) + pattern[len(prefix) :]


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
            body = pattern[i + 1 : end].replace("\\", "\\\\")
            out.append("[" + ("^" + body[1:] if body[0] == "!" else body.replace("^", "\\^")) + "]")
            i = end + 1
        else:
            out.append(re.escape(char))
            i += 1
    return re.compile("".join(out), re.DOTALL)
