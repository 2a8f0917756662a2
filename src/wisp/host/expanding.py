"""`/name arguments` for skills and commands: from what was typed to what the model is told."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from wisp.context.skills import Skill
from wisp.context.templates import Shell, Words, fill
from wisp.host.client import CommandRefused
from wisp.host.skills import Skills
from wisp.workspace.errors import Refused


class Expansion(msgspec.Struct, frozen=True):
    """A skill or command with its arguments, before any line of shell in it was run."""

    skill: Skill
    parts: tuple[Words | Shell, ...]
    head: str
    """What precedes them: what was typed, and where the skill's files are."""

    @property
    def shell(self) -> tuple[str, ...]:
        """The lines of shell in it."""
        return tuple(part.command for part in self.parts if isinstance(part, Shell))

    def text(self, outputs: Mapping[int, str] | None = None) -> str:
        """The whole, with the output of each part that is a line of shell, by its place."""
        said = [
            part.text if isinstance(part, Words) else (outputs or {}).get(place, "")
            for place, part in enumerate(self.parts)
        ]
        return self.head + "".join(said).strip()


def expand(typed: str, skills: Skills, values: Mapping[str, str]) -> Expansion | None:
    """What `typed` means when it begins with `/` and the name of a skill or command; None otherwise.

    Raises:
        CommandRefused: the file cannot be read any more.
    """
    if not typed.startswith("/"):
        return None
    name, _, arguments = typed[1:].partition(" ")
    name, newline, rest = name.partition("\n")
    arguments = (rest + (" " if newline and arguments else "") + arguments if newline else arguments).strip()
    skill = skills.find(name)
    if skill is None or not skill.by_person:
        return None
    try:
        template = skills.text(name)
        files = skills.files(name)
    except Refused as exc:
        raise CommandRefused(f"/{name} cannot be read: {exc}") from None
    parts = fill(template, arguments, values)
    where = f" Its folder is {skills.folder(name)}." if files else ""
    head = f"The user started {skill.kind} /{name}.{where} What it says:\n\n"
    return Expansion(skill, tuple(parts), head)
