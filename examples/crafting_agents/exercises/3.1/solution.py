"""Exercise 3.1: from the outside in, so that the nearest guidance is read last; each with its own budget."""

from pathlib import Path

from examples.crafting_agents.context import fit


def nested_guidance(root: Path, where: Path, limit: int) -> list[str]:
    """The text of each AGENTS.md from root down to where, each cut to limit characters."""
    folders = [root]
    for part in where.relative_to(root).parts:
        folders.append(folders[-1] / part)
    files = [folder / "AGENTS.md" for folder in folders]
    return [
        fit(file.read_text(encoding="utf-8"), limit)
        for file in files
        if file.is_file() and not file.is_symlink()
    ]
