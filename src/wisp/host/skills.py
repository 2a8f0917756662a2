"""Finding skills and commands: where they may lie, who wins a name, what was odd.

Folders of a project are looked at only when that folder is trusted, and opened without leaving it.  What
the files say is `context.skills`'s business.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from wisp.context.frontmatter import BadFrontmatter
from wisp.context.skills import Skill, body_of, faults, read
from wisp.host.given import whole_file
from wisp.host.shelves import SKILL_FILE, Place, candidates, files_of, place_of, text_of
from wisp.workspace.errors import Refused
from wisp.workspace.files import read_whole
from wisp.workspace.root import Workspace

LISTED = 40
"""Most file names told with a skill's text."""
PROJECT_SKILLS = (".agents/skills", ".wisp/skills", ".claude/skills")
PROJECT_COMMANDS = (".wisp/commands", ".claude/commands")
BUNDLED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "bundled")


class Found(msgspec.Struct, frozen=True):
    """One skill or command, and where its text is."""

    skill: Skill
    root: str
    """What may not be left to reach its files."""
    file: str
    """From there."""

    @property
    def folder(self) -> str:
        """Absolute."""
        return os.path.normpath(os.path.join(self.root, os.path.dirname(self.file)))


class Skills:
    """All skills and commands of a conversation; implements the `skill` tool's `Shelf`."""

    def __init__(self, found: Sequence[Found], notes: Sequence[str] = ()) -> None:
        self._found = {one.skill.name: one for one in found}
        self.notes = tuple(notes)

    def all(self) -> list[Skill]:
        """Every one, those of the project first."""
        return [one.skill for one in self._found.values()]

    def find(self, name: str) -> Skill | None:
        """The one of that name."""
        found = self._found.get(name)
        return found.skill if found is not None else None

    def names(self) -> list[str]:
        """See `Shelf.names`."""
        return [one.skill.name for one in self._found.values() if one.skill.by_model]

    def folder(self, name: str) -> str:
        """See `Shelf.folder`."""
        return self._found[name].folder

    def text(self, name: str) -> str:
        """What it says, as it is now.  Raises `Refused`."""
        found = self._found[name]
        return body_of(text_of(found.root, found.file))

    def body(self, name: str) -> str:
        """See `Shelf.body`."""
        files = self.files(name)
        listed = ", ".join(files[:LISTED]) + (
            f" and {len(files) - LISTED} more" if len(files) > LISTED else ""
        )
        more = f"\nOther files of it (skill tool, resource=...): {listed}" if files else ""
        return f"Skill {name}, in {self.folder(name)}.{more}\n\n{self.text(name)}"

    def files(self, name: str) -> list[str]:
        """The other files in its folder, from there; none for a command."""
        found = self._found[name]
        if found.skill.kind == "command":
            return []
        base = os.path.dirname(found.file)
        names = [os.path.relpath(path, base or ".") for path in files_of(found.root, base)]
        return sorted(one for one in names if one.lower() != "skill.md")

    def resource(self, name: str, path: str, limit: int) -> bytes:
        """See `Shelf.resource`."""
        folder = self.folder(name)
        workspace = Workspace(folder)
        try:
            place = workspace.place(path)
            if not place.inside:
                raise Refused("outside", f"{path} is not in the skill's folder")
            return read_whole(workspace, place, limit).data
        finally:
            workspace.close()


def find(places: Sequence[Place]) -> Skills:
    """Everything in `places`; of one name the first wins."""
    found: dict[str, Found] = {}
    notes: list[str] = []
    for place in places:
        for file, name in candidates(place):
            root, inner = place_of(place, file)
            source = (
                f"{place.label}{file}" if not place.own or place.label else os.path.join(place.root, file)
            )
            try:
                skill, odd = read(text_of(root, inner), name, source, place.kind)
            except (BadFrontmatter, Refused) as exc:
                notes.append(f"{source} is left out: {exc}")
                continue
            notes += [f"{source}: {what}" for what in odd]
            if skill.name in found:
                kept = found[skill.name].skill.source
                if place.label != "bundled:":
                    notes.append(f"{source} is hidden by {kept}, which has the same name")
                continue
            found[skill.name] = Found(skill, root, inner)
    return Skills(list(found.values()), notes)


def places(projects: Sequence[str], home: str, config: str) -> list[Place]:
    """Where to look, the nearest first.

    Args:
        projects: trusted folders, from the working directory upwards.
        home: the user's home folder.
        config: the folder of the user's own settings.
    """
    found = []
    for folder in projects:
        found += [Place(folder, below, "skill", own=False) for below in PROJECT_SKILLS]
        found += [Place(folder, below, "command", own=False) for below in PROJECT_COMMANDS]
    for base, below in ((config, "skills"), (home, ".agents/skills"), (home, ".claude/skills")):
        found.append(Place(base, below, "skill", own=True))
    for base, below in ((config, "commands"), (home, ".claude/commands")):
        found.append(Place(base, below, "command", own=True))
    return [*found, Place(BUNDLED, "", "skill", own=True, label="bundled:")]


def validate(path: str) -> list[str]:
    """What is wrong with the skill in folder `path` (or whose SKILL.md `path` is), strictly."""
    if os.path.isfile(path) and os.path.basename(path).lower() == "skill.md":
        path = os.path.dirname(path) or "."
    if not os.path.isdir(path):
        return [f"{path} is not a folder" if os.path.lexists(path) else f"{path} does not exist"]
    name = next((n for n in (SKILL_FILE, "skill.md") if os.path.exists(os.path.join(path, n))), None)
    if name is None:
        return [f"{path} holds no {SKILL_FILE}"]
    try:
        text = whole_file(os.path.join(path, name), 10_000_000).decode("utf-8")
    except UnicodeDecodeError:
        return [f"{name} is not UTF-8"]
    except OSError as exc:
        return [f"{name} cannot be read: {exc.strerror}"]
    return faults(text.replace("\r\n", "\n"), os.path.basename(os.path.abspath(path)))
