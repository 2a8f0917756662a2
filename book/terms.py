"""Keeps each term written in one way, as the glossary writes it.

    python book/terms.py [PAGE...]      fails, with the place, where a page writes a term otherwise

The glossary is the list: a headword of two parts (`Tool call`, `Follow-up`) may not be joined in another way, and
its last table names what else is not written.  Knows nothing of spelling: codespell and cspell look at that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
GLOSSARY = CHECKOUT / "book" / "glossary.md"
JOINTS = (" ", "-", "")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)]*\)|<!--.*?-->", re.MULTILINE | re.DOTALL)


def rejected(glossary: str) -> dict[str, str]:
    """What must not be written, each with what is written instead."""
    found: dict[str, str] = {}
    for term in re.findall(r"^\*\*([^*]+)\.\*\*", glossary, re.MULTILINE):
        if parts := re.fullmatch(r"(\w+)([ -])(\w+)", term):
            others = (f"{parts[1]}{joint}{parts[3]}" for joint in JOINTS if joint != parts[2])
            found.update((other.lower(), term.lower()) for other in others)
    for right, wrong in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", glossary, re.MULTILINE):
        if right not in ("Write", "---"):
            found.update((other.lower(), right) for other in wrong.split(", "))
    return found


def pages() -> list[Path]:
    """What people read: the book, the guide, and the pages at the top."""
    folders = ("book", "book/chapters", "book/case_studies", "docs", "docs/guide", ".")
    every = [path for folder in folders for path in sorted((CHECKOUT / folder).glob("*.md"))]
    # The tables of the architecture hold names of packages, which tests read.
    return [path for path in every if path not in (GLOSSARY, CHECKOUT / "docs" / "architecture.md")]


def problems(text: str, wrong: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Line and complaint for each term that is written otherwise; code is left alone."""
    # Blanked and not cut out, so that the lines keep their numbers.
    prose = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for form, right in wrong.items():
        words = r"\s+".join(map(re.escape, form.split()))
        for found in re.finditer(rf"(?<![\w-]){words}s?(?![\w-])", prose, re.IGNORECASE):
            yield prose.count("\n", 0, found.start()) + 1, f"{found[0]!r} is written {right!r}"


def main(argv: list[str]) -> int:
    """Look at the given pages, or at all."""
    wrong = rejected(GLOSSARY.read_text(encoding="utf-8"))
    status = 0
    for page in [Path(name) for name in argv] or pages():
        for line, what in sorted(problems(page.read_text(encoding="utf-8"), wrong)):
            print(f"{page}:{line}: {what}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
