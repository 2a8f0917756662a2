"""Finding skills and commands: where they may lie, who wins a name, what was odd.

Folders of a project are looked at only when that folder is trusted, and opened without leaving it.  What
the files say is `context.skills`'s business.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import msgspec

from wisp.context.frontmatter import BadFrontmatter
from wisp.context.skills import Kind, Skill, body_of, faults, read
from wisp.workspace.errors import Refused
from wisp.workspace.files import read_whole
from wisp.workspace.root import Workspace

SKILL_FILE = "SKILL.md"
MOST_BYTES = 256_000
"""Longest file of a skill or command."""
MOST_DEPTH, MOST_FOLDERS = 4, 2_000
LISTED = 40
"""Most file names told with a skill's text."""
PROJECT_SKILLS = (".agents/skills", ".wisp/skills", ".claude/skills")
PROJECT_COMMANDS = (".wisp/commands", ".claude/commands")
BUNDLED = os.path.join(os.path.dirname(os.path.dirname(__file__)), "bundled")
_SKIPPED = frozenset({".git", "node_modules", "__pycache__"})


class Place(msgspec.Struct, frozen=True):
    """One folder in which skills, or commands, may lie."""

    root: str
    """What may not be left on the way to a file; absolute."""
    below: str
    """From there."""
    kind: Kind
    own: bool
    """The user's own or a bundled one, where links may lead anywhere."""
    label: str = ""
    """How files in it are named to a person; empty for absolute paths."""


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
        return body_of(_text(found.root, found.file))

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
        names = [os.path.relpath(path, base or ".") for path in _files(found.root, base)]
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
        for file, name in _candidates(place):
            root, inner = (place.root, file) if not place.own else _own(place, file)
            source = (
                f"{place.label}{file}" if not place.own or place.label else os.path.join(place.root, file)
            )
            try:
                skill, odd = read(_text(root, inner), name, source, place.kind)
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
        with open(os.path.join(path, name), "rb") as file:
            text = file.read(10_000_000).decode("utf-8")
    except UnicodeDecodeError:
        return [f"{name} is not UTF-8"]
    except OSError as exc:
        return [f"{name} cannot be read: {exc.strerror}"]
    return faults(text.replace("\r\n", "\n"), os.path.basename(os.path.abspath(path)))


# -- looking ----------------------------------------------------------------------------------------------


def _candidates(place: Place) -> Iterator[tuple[str, str]]:
    """`(file from the root, name)` of what lies in `place`, in the order of names."""
    wanted = _is_skill if place.kind == "skill" else _is_command
    if place.own:
        listing = _listing_plain(place.root)
        yield from _walk(place.below, listing, wanted)
        return
    try:
        workspace = Workspace(place.root)
    except Refused:
        return
    try:
        yield from _walk(place.below, _listing_safe(workspace), wanted)
    finally:
        workspace.close()


Listing = Callable[[str], list[tuple[str, bool]]]
"""Names in a folder and whether each is a folder; empty where it cannot be listed."""
Wanted = Callable[[str, str, list[tuple[str, bool]]], Iterator[tuple[str, str]]]


def _walk(top: str, listing: Listing, wanted: Wanted) -> Iterator[tuple[str, str]]:
    """Folders breadth first; one that holds a skill is not looked into."""
    todo = [(top, 0)]
    for seen, (folder, depth) in enumerate(todo):
        if seen >= MOST_FOLDERS:
            return
        entries = listing(folder)
        here = list(wanted(top, folder, entries))
        yield from here
        if (here and wanted is _is_skill) or depth >= MOST_DEPTH:
            continue
        todo += [
            (f"{folder}/{name}" if folder else name, depth + 1)
            for name, is_folder in entries
            if is_folder and name not in _SKIPPED and not name.startswith(".")
        ]


def _is_skill(top: str, folder: str, entries: list[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    names = {name for name, is_folder in entries if not is_folder}
    for name in (SKILL_FILE, "skill.md"):
        if name in names and folder != top:
            yield f"{folder}/{name}", os.path.basename(folder)
            return


def _is_command(top: str, folder: str, entries: list[tuple[str, bool]]) -> Iterator[tuple[str, str]]:
    above = folder[len(top) :].strip("/").replace("/", ":")
    for name, is_folder in entries:
        if name.endswith(".md") and not is_folder and not name.startswith("."):
            said = name.removesuffix(".md")
            yield f"{folder}/{name}", f"{above}:{said}" if above else said


def _listing_safe(workspace: Workspace) -> Listing:
    def listing(folder: str) -> list[tuple[str, bool]]:
        try:
            fd, _ = workspace.open_directory(workspace.place(folder))
        except Refused:
            return []
        try:
            return _entries(fd)
        finally:
            os.close(fd)

    return listing


def _listing_plain(root: str) -> Listing:
    def listing(folder: str) -> list[tuple[str, bool]]:
        return _entries(os.path.join(root, folder))

    return listing


def _entries(folder: int | str) -> list[tuple[str, bool]]:
    try:
        with os.scandir(folder) as found:
            return sorted((entry.name, entry.is_dir()) for entry in found)
    except OSError:
        return []


def _own(place: Place, file: str) -> tuple[str, str]:
    """A file of the user's own: its real folder may be a link to anywhere, but nothing below it leaves it."""
    folder, name = os.path.split(os.path.join(place.root, file))
    return os.path.realpath(folder), name


def _files(root: str, base: str) -> list[str]:
    workspace = Workspace(root)
    try:
        listing = _listing_safe(workspace)
        found: list[str] = []
        todo = [(base, 0)]
        for folder, depth in todo:
            for name, is_folder in listing(folder or "."):
                path = f"{folder}/{name}" if folder else name
                if not is_folder:
                    found.append(path)
                elif depth < MOST_DEPTH and name not in _SKIPPED and len(todo) < MOST_FOLDERS:
                    todo.append((path, depth + 1))
        return found
    finally:
        workspace.close()


def _text(root: str, file: str) -> str:
    workspace = Workspace(root)
    try:
        data = read_whole(workspace, workspace.place(file), MOST_BYTES).data
        return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    finally:
        workspace.close()
