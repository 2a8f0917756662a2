"""A wrong answer: one budget for all, so a long file at the top crowds out the nearest one."""

from pathlib import Path

from examples.crafting_agents.context import fit


def nested_guidance(root: Path, where: Path, limit: int) -> list[str]:
    """Shares what should be separate."""
    found = []
    folder = root
    for part in ("", *where.relative_to(root).parts):
        folder = folder / part
        if (folder / "AGENTS.md").is_file():
            text = fit((folder / "AGENTS.md").read_text(encoding="utf-8"), max(limit, 11))
            limit -= len(text)
            found.append(text)
    return found
