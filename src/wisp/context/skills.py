"""Skills: what one file says of itself, whether it keeps to the format, and what the model is told of all.

Follows the Agent Skills specification (agentskills.io).  Loading is lenient, `faults` is strict.  Pure: who
found the files, and whether their folder is trusted, is the host's.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from wisp.context.frontmatter import FENCE, BadFrontmatter, parse, split

NAME_MOST, DESCRIPTION_MOST, COMPATIBILITY_MOST = 64, 1024, 500
"""Characters, by the specification."""
FIELDS = ("allowed-tools", "compatibility", "description", "license", "metadata", "name")
CATALOGUE_MOST = 12_000
"""Characters of the whole catalogue in the prompt."""

Kind = Literal["skill", "command"]


class Skill(msgspec.Struct, frozen=True):
    """One skill, or one command: a skill that only a person starts."""

    name: str
    """As it is asked for: `review`, or `video:qa` for a command in a folder."""
    description: str
    source: str
    """Where it comes from, for a person: a path from the project's folder, or absolute."""
    kind: Kind = "skill"
    hint: str = ""
    """What its arguments are, for a list of commands."""
    by_model: bool = True
    """Whether the model is told of it and may load it."""
    by_person: bool = True
    """Whether `/name` starts it."""


def read(text: str, folder: str, source: str, kind: Kind = "skill") -> tuple[Skill, list[str]]:
    """The skill that a file's `text` describes, and what is odd about it.

    What other agents read at the top of the front matter (`argument-hint`, `disable-model-invocation`,
    `user-invocable`) may also stand in `metadata`, where the specification allows it.

    Args:
        folder: the name of its folder, or of a command's file without `.md`; it is the skill's name.

    Raises:
        BadFrontmatter: it cannot be used: no readable front matter, or no description.
    """
    if kind == "command" and not text.lstrip("\ufeff").startswith(FENCE):
        fields: dict[str, Any] = {}
    else:
        fields = parse(split(text)[0], lenient=True)
    description = _text(fields.get("description"))
    if not description and kind == "skill":
        raise BadFrontmatter("there is no description, so nobody could know when to use it")
    said = _text(fields.get("name"))
    notes = []
    if kind == "skill":
        notes = _name_faults(said, folder) if said else ["there is no name; the folder's is used"]
        if len(description) > DESCRIPTION_MOST:
            notes.append(f"the description has more than {DESCRIPTION_MOST} characters; it was cut")
    more = fields.get("metadata")
    extra = {**more, **fields} if isinstance(more, dict) else fields
    by_model = kind == "skill" and _text(extra.get("disable-model-invocation")).lower() != "true"
    by_person = _text(extra.get("user-invocable")).lower() != "false"
    name = unicodedata.normalize("NFKC", folder)
    return (
        Skill(
            name,
            " ".join(description.split())[:DESCRIPTION_MOST],
            source,
            kind,
            _text(extra.get("argument-hint")),
            by_model,
            by_person,
        ),
        notes,
    )


def body_of(text: str) -> str:
    """What a skill or command says, without its front matter."""
    try:
        return split(text)[1]
    except BadFrontmatter:
        return text.removeprefix("\ufeff").strip()


def faults(text: str, folder: str) -> list[str]:
    """Everything in a SKILL.md that breaks the specification, as sentences; empty for none.

    Agrees with the reference library (PyPI `skills-ref`) on what is valid.
    """
    if not text.startswith(FENCE):
        return ["SKILL.md must begin with a line '---'"]
    parts = text.split(FENCE, 2)  # as the reference reads it: any three dashes end the front matter
    if len(parts) < 3:
        return ["the front matter has no closing line '---'"]
    try:
        fields = parse(parts[1])
    except BadFrontmatter as exc:
        return [f"the front matter cannot be read: {exc}"]
    found = []
    extra = sorted(set(fields) - set(FIELDS))
    if extra:
        known = ", ".join(FIELDS)
        found.append(f"unknown fields: {', '.join(extra)}; the specification knows {known}")
    if "name" not in fields:
        found.append("the required field 'name' is missing")
    else:
        found += _name_faults(fields["name"], folder)
    if "description" not in fields:
        found.append("the required field 'description' is missing")
    else:
        found += _description_faults(fields["description"])
    compatibility = fields.get("compatibility", "")
    if not isinstance(compatibility, str):
        found.append("'compatibility' must be a text")
    elif len(compatibility) > COMPATIBILITY_MOST:
        found.append(f"'compatibility' has {len(compatibility)} characters; at most {COMPATIBILITY_MOST}")
    return found


def _name_faults(given: Any, folder: str) -> list[str]:
    if not isinstance(given, str) or not given.strip():
        return ["'name' must be a text that is not empty"]
    name = unicodedata.normalize("NFKC", given.strip())
    found = []
    if len(name) > NAME_MOST:
        found.append(f"the name has {len(name)} characters; at most {NAME_MOST}")
    if name != name.lower():
        found.append(f"the name {name!r} must be lowercase")
    if name.startswith("-") or name.endswith("-"):
        found.append("the name must not begin or end with a hyphen")
    if "--" in name:
        found.append("the name must not hold two hyphens in a row")
    if not all(c.isalnum() or c == "-" for c in name):
        found.append(f"the name {name!r} may hold letters, digits and single hyphens only")
    if unicodedata.normalize("NFKC", folder) != name:
        found.append(f"the folder {folder!r} must have the skill's name, {name!r}")
    return found


def _description_faults(given: Any) -> list[str]:
    if not isinstance(given, str) or not given.strip():
        return ["'description' must be a text that is not empty"]
    if len(given) > DESCRIPTION_MOST:
        return [f"the description has {len(given)} characters; at most {DESCRIPTION_MOST}"]
    return []


def catalogue(skills: Sequence[Skill]) -> tuple[str, int]:
    """What the model is told of the skills it may load, and how many found no room; empty for none."""
    offered = [skill for skill in skills if skill.by_model]
    if not offered:
        return "", 0
    head = (
        "Skills, which the skill tool loads. Before a task that one of these describes, load it and follow "
        "it where the user and these instructions do not say otherwise:"
    )
    lines, size = [head], len(head)
    for place, skill in enumerate(offered):
        line = f"- {skill.name}: {skill.description}"
        size += len(line) + 1
        if size > CATALOGUE_MOST:
            left = len(offered) - place
            return "\n".join([*lines, f"- [{left} more are not listed for want of room]"]), left
        lines.append(line)
    return "\n".join(lines), 0


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
