"""What a repository's configuration reads, or runs by a path, besides the repository itself.

Includes are followed, as git does (git-config(1)); what they name counts also where nothing is there yet.
Pure looking: writes nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence

_KEYS = re.compile(
    rb"(?im)^\s*(?:\[[^\]\n]*\]\s*)?(path|hookspath|fsmonitor|attributesfile|sshcommand|askpass)"
    rb'\s*=\s*(?:"([^"\n]*)"|([^#;\n]*))'
)
"""Keys whose value git reads settings from, or runs."""
_MOST_FILES = 20
_LARGEST = 1 << 20


def named(configs: Sequence[str], folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Real paths of what is named, each with what it is: `there`, or a missing `file` or `folder`.

    Args:
        configs: files of configuration.
        folders: what values are relative to: the repository's own first, then those it is checked out in.
            Includes are relative to the file they stand in.
    """
    todo, done = list(configs), set[str]()
    while todo and len(done) < _MOST_FILES:
        config = todo.pop()
        if config in done:
            continue
        done.add(config)
        for key, quoted, plain in _KEYS.findall(small_file(config)):
            value = os.path.expanduser(os.fsdecode(quoted or plain.strip()))
            including = key.lower() == b"path"
            for base in (os.path.dirname(config),) if including else folders:
                place = os.path.realpath(os.path.join(base, value)) if value and "\0" not in value else ""
                if not place or any(f"{folder}/".startswith(f"{place}/") for folder in folders):
                    continue
                if os.path.exists(place):
                    yield place, "there"
                    if including:
                        todo.append(place)
                elif including or (key.lower() == b"hookspath" and base != folders[0]):
                    first = first_missing(place)
                    yield first, "file" if including and first == place else "folder"


def first_missing(place: str) -> str:
    """The first of the folders on the way to it, or itself, that is not there."""
    while not os.path.lexists(above := os.path.dirname(place)):
        place = above
    return place


def small_file(path: str) -> bytes:
    """The beginning of a regular file, not through a link; nothing of anything else."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return b""
        return os.read(fd, _LARGEST)
    except OSError:
        return b""
    finally:
        os.close(fd)
