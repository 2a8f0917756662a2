"""Exercise 3.1: guidance that is nested.  Each folder on the way to where we work may have an AGENTS.md."""

from pathlib import Path


def nested_guidance(root: Path, where: Path, limit: int) -> list[str]:
    """The text of each AGENTS.md from root down to where (below root), each cut to limit characters.

    What is cut ends in chapter 3's mark, [truncated], which is paid for out of the limit.
    """
    raise NotImplementedError
