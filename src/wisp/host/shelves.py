"""Looking for files that tell an agent things: skills, commands, definitions of subagents.

Folders of a project are opened without leaving them; links out of them are not followed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from wisp.context.skills import Kind
from wisp.workspace.errors import Refused
from wisp.workspace.files import read_whole
from wisp.workspace.root import Workspace

SKILL_FILE = "SKILL.md"
MOST_BYTES = 256_000
"""Longest file that is read."""
MOST_DEPTH, MOST_FOLDERS = 4, 2_000
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


def candidates(place: Place) -> Iterator[tuple[str, str]]:
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


def place_of(place: Place, file: str) -> tuple[str, str]:
    """`(what may not be left, the file from there)` for a file found in `place`.

    A file of the user's own may lie behind a link to anywhere, but nothing below its real folder leaves it.
    """
    if not place.own:
        return place.root, file
    folder, name = os.path.split(os.path.join(place.root, file))
    return os.path.realpath(folder), name


def files_of(root: str, base: str) -> list[str]:
    """All files below `base`, from `root`."""
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


def text_of(root: str, file: str) -> str:
    """A file's text.  Raises `Refused`."""
    workspace = Workspace(root)
    try:
        data = read_whole(workspace, workspace.place(file), MOST_BYTES).data
        return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    finally:
        workspace.close()
