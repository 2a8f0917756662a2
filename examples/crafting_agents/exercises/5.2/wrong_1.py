"""A wrong answer: /tmp/project-secret begins with /tmp/project as well."""

from pathlib import Path


def read_beneath(root: Path, path: str) -> str:
    """Compares paths as if they were words."""
    place = (root / path).resolve()
    if not str(place).startswith(str(root.resolve())):
        raise PermissionError("outside")
    return place.read_text(encoding="utf-8")
