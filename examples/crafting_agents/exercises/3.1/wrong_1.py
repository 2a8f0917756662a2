"""A wrong answer: it finds every AGENTS.md below root, also those of other folders, and follows links."""

from pathlib import Path

from examples.crafting_agents.context import fit


def nested_guidance(root: Path, where: Path, limit: int) -> list[str]:
    """Takes too much."""
    return [fit(file.read_text(encoding="utf-8"), limit) for file in sorted(root.rglob("AGENTS.md"))]
