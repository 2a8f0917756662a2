"""The instruction stack of a request, assembled in one fixed order.

    built-in prompt (or the file that replaces it), environment, instruction files, skills, plan mode,
    appended text

The order is from the most to the least stable, so that a provider's cache keeps the front.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

from wisp.context.blocks import Block, block


@cache
def base_prompt() -> str:
    """The built-in prompt."""
    return _prompt("base.md")


def plan_prompt() -> str:
    """What is said in plan mode, and what a good plan holds."""
    return _prompt("plan.md")


def _prompt(name: str) -> str:
    path = os.path.join(os.path.dirname(__file__), "prompts", name)
    with open(path, encoding="utf-8") as file:
        return file.read()


def environment(cwd: str, platform: str, date: str, branch: str) -> str:
    """What the model needs to know of the place it works in; stable for a day, as `date` is."""
    lines = [f"Working directory: {cwd}", f"Platform: {platform}", f"Date: {date}"]
    if branch:
        lines.append(f"Git branch: {branch}")
    return "\n".join(lines)


def assemble(
    *,
    environment: str,
    replacement: tuple[str, str] | None = None,
    files: Sequence[Block] = (),
    skills: str = "",
    planning: bool = False,
    appended: str = "",
) -> tuple[Block, ...]:
    """The blocks of every request.

    Args:
        environment: see `environment`.
        replacement: `(path, text)` of a file that replaces the built-in prompt.
        files: of instruction files, broadest first; the project's only of trusted folders.
        skills: the catalogue; empty where the model may load none.
        planning: whether a plan is wanted and nothing else.
        appended: the user's own last word.
    """
    first = (
        block("prompt", replacement[1], replacement[0])
        if replacement is not None
        else block("prompt", base_prompt(), "built-in")
    )
    blocks = [first, block("environment", environment, "built-in")]
    blocks += files
    if skills:
        blocks.append(block("skills", skills, "skills"))
    if planning:
        blocks.append(block("plan", plan_prompt(), "built-in"))
    if appended:
        blocks.append(block("appended", appended, "--append-system-prompt"))
    return tuple(blocks)
