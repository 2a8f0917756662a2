"""What a docstring says of a function and of each of its arguments.

Reads the three forms that are in use: sections (`Args:`), underlined headings (`Parameters` over dashes) and
fields (`:param x:`).  Knows nothing of types.
"""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_TITLE = (
    r"(?:Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Returns?|Yields?"
    r"|Raises|Examples?|Notes?|Attributes|Warnings?|References|See Also|Todo)"
)
_FIRST = re.compile(rf"^(?:{_TITLE}:[ \t]*$|{_TITLE}[ \t]*\n-{{3,}}[ \t]*$|:\w+[^:\n]*:)", re.MULTILINE)
"""Where the description ends."""
_ARGUMENTS = r"(?:Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments)"
_MORE = r"(?:\n(?:[ \t]+.*|[ \t]*(?=\n[ \t])))*"
"""Lines that go on with what was begun: deeper ones, and empty ones between them."""
_SECTION = re.compile(rf"^{_ARGUMENTS}:[ \t]*({_MORE})", re.MULTILINE)
_HEADING = re.compile(
    rf"^{_ARGUMENTS}[ \t]*\n-{{3,}}[ \t]*\n(.*?)(?=^\S[^\n]*\n-{{3,}}[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_ITEM = re.compile(rf"^\*{{0,2}}(\w+)[ \t]*(?:\([^\n]*?\))?[ \t]*:[ \t]*(.*{_MORE})", re.MULTILINE)
_NAMES = re.compile(rf"^(\*{{0,2}}\w+(?:[ \t]*,[ \t]*\*{{0,2}}\w+)*)[ \t]*(?::.*)?({_MORE})", re.MULTILINE)
_FIELD = re.compile(
    rf"^:(?:param|parameter|arg|argument)[ \t]+(?:[^:\n]*[ \t])?\*{{0,2}}(\w+)[ \t]*:[ \t]*(.*{_MORE})",
    re.MULTILINE,
)


class Words(NamedTuple):
    """What a docstring says."""

    about: str
    """Everything before the first section; paragraphs without their wrapping."""
    arguments: dict[str, str]
    """Of each argument that is described: one line."""


def read(docstring: str | None) -> Words:
    """Take `docstring` apart; nothing in it is ever an error."""
    text = inspect.cleandoc(docstring or "")
    first = _FIRST.search(text)
    about = text[: first.start()] if first else text
    found: dict[str, str] = dict(_FIELD.findall(text))
    for section in _SECTION.findall(text):
        found.update(_ITEM.findall(inspect.cleandoc(section)))
    for section in _HEADING.findall(text):
        for names, said in _NAMES.findall(section):
            found.update((name.strip(" \t*"), said) for name in names.split(","))
    paragraphs = [_unwrapped(part) for part in re.split(r"\n\s*\n", about.strip())]
    return Words("\n\n".join(paragraphs), {name: " ".join(said.split()) for name, said in found.items()})


def _unwrapped(paragraph: str) -> str:
    """One line, but for the items of a list."""
    return re.sub(r"[ \t]*\n(?![ \t]*(?:[-*]|\d+[.)])[ \t])[ \t]*", " ", paragraph).strip()
