"""Exercise 5.2: look at every part of the way before opening what it leads to."""

from pathlib import Path, PurePosixPath


def read_beneath(root: Path, path: str) -> str:
    """The text of a regular file below root."""
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts:
        raise PermissionError(f"{path!r} leads out of the folder")
    place = root
    for part in parts:
        place = place / part
        if place.is_symlink():
            raise PermissionError(f"{part!r} is a symbolic link")
    if not place.is_file():
        raise FileNotFoundError(path)
    return place.read_text(encoding="utf-8")
