"""The front matter of skills, compared with the reader of the reference library.

Not part of the comparison, because nobody writes it in a skill: explicit keys (`? x`), lists within lists on one
line (`- - x`), a block's mark on a line of its own, and comments in places where the reference itself fails.
"""

from __future__ import annotations

import os
import random
import re
from contextlib import suppress
from typing import Any

from skills_ref.errors import ParseError
from skills_ref.parser import parse_frontmatter

from wisp.context.frontmatter import BadFrontmatter, parse
from wisp.context.skills import FIELDS

CASES = 200_000 if os.environ.get("WISP_SOAK") else 4_000

KEYS = [*FIELDS, "other", '"name"', "'license'", "na me", "ключ", "Name", "x:y", "a#b", "-x", "1"]
VALUES = [
    "plain",
    "two words",
    "with: colon",
    "with:colon",
    "ends:",
    "comment # here",
    "no#comment",
    '"quoted"',
    '"quoted: colon"',
    '"esc \\n \\t \\u00e9 \\" x"',
    '"bad \\q"',
    '"open',
    "'single'",
    "'it''s'",
    "'open",
    '"a" b',
    "[a, b]",
    "{a: b}",
    "&anchor x",
    "*alias",
    "!tag x",
    "@x",
    "`x`",
    "%x",
    "- x",
    "-x",
    "?x",
    "|",
    ">",
    "|-",
    ">+",
    "|x",
    "",
    "#",
    "# only comment",
    "12",
    "true",
    "null",
    "~",
    "技能",
    "x" * 70,
    "good-name",
    "-",
    "a, b",
    "a]b",
    "a } b",
    "a --- b",
]
_ODD = re.compile(r"(?m)^ *- (- |-$)|^ *[|>]|---|[|>][-+]?\n *#")
INDENTS = ["", "  ", "    ", " ", "\t"]


def _front(source: random.Random) -> str:
    lines = []
    for _ in range(source.randint(0, 5)):
        kind = source.random()
        indent = source.choice(INDENTS[:4] if source.random() < 0.95 else INDENTS)
        if kind < 0.6:
            indent = "" if source.random() < 0.8 else indent
            lines.append(f"{indent}{source.choice(KEYS)}: {source.choice(VALUES)}".rstrip())
        elif kind < 0.75:
            lines.append(f"{indent}{source.choice(VALUES)}".rstrip())
        elif kind < 0.85:
            lines.append(f"{indent}- {source.choice(VALUES)}".rstrip())
        elif kind < 0.9:
            lines.append(f"{indent}- {source.choice(KEYS)}: {source.choice(VALUES)}".rstrip())
        elif kind < 0.95:
            lines.append("")
        else:
            lines.append(f"{indent}# a comment: here")
    return "\n".join(lines) + "\n"


def test_what_the_reference_reads_is_read_alike_and_what_it_refuses_is_refused() -> None:
    """Seeded front matters of every kind of line, good and bad, against StrictYAML."""
    source = random.Random(20261130)
    read_alike = refused_alike = 0
    for _ in range(CASES):
        front = _front(source)
        if _ODD.search(front):
            continue
        theirs: Any = None
        ours: Any = None
        try:
            theirs = parse_frontmatter(f"---\n{front}---\nBody\n")[0]
        except ParseError:
            pass
        except NotImplementedError:
            continue
        with suppress(BadFrontmatter):
            ours = parse(front)
        assert ours == theirs, front
        read_alike += theirs is not None
        refused_alike += theirs is None

    assert min(read_alike, refused_alike) > CASES // 10
