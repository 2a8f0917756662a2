"""Code in HTML: colours by Pygments, a line as an element of its own."""

from __future__ import annotations

import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

DEEPEST = 28


def coloured(code: str, language: str) -> list[str]:
    """The lines of some code in HTML; an element never goes over the end of a line."""
    try:
        lexer = get_lexer_by_name("text" if language == "console" else language)
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True))).rstrip().split("\n")


def highlighted(code: str, language: str) -> str:
    """A block of code; colours and what happens in a narrow window come from the style sheet."""
    lines = coloured(code, language)
    text = "\n".join(lines)
    if re.search(r"^\+-+\+$", code, re.MULTILINE):  # a drawing falls apart when it is wrapped
        return f'<pre tabindex="0"><code>{text}</code></pre>'
    if language in ("console", "text"):
        if text.startswith("$ "):  # the two hyphens of an option are no place to break a line
            lines[0] = re.sub(r"(?<= )--[\w-]+", r'<span class="option">\g<0></span>', lines[0])
            text = "\n".join(lines)
        return f'<pre tabindex="0" class="printed"><code>{text}</code></pre>'
    rows = "".join(
        row(source, indented(line)) for source, line in zip(code.strip("\n").split("\n"), lines, strict=False)
    )
    return f'<pre tabindex="0" class="listing"><code>{rows}</code></pre>'


def indented(line: str) -> str:
    """A line of HTML with the spaces at its beginning as an element, which a narrow window can leave out."""
    return re.sub(r"^(<span[^>]*>)?( +)", r'\1<span class="in">\2</span>', line)


def row(source: str, line: str, more: str = "", identity: str = "") -> str:
    """A line as an element, with its end inside: between two blocks it would be an empty line of its own.

    The style sheet needs the depth to put what is wrapped a little right of where the line begins.

    Args:
        source: The line as it is in the file.
        line: The same in HTML.
        more: Further classes.
        identity: Where a link to the line leads.
    """
    depth = min((len(source) - len(source.lstrip(" "))) // 2 * 2, DEEPEST)
    mark = f' id="{identity}"' if identity else ""
    return f'<span class="{f"row d{depth} {more}".rstrip()}"{mark}>{line}\n</span>'
