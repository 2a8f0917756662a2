"""Markdown as it arrives: what is finished is drawn once, only the tail is drawn again.

A reply of any length costs time in proportion to it: the text before the last open block never changes
any more and keeps its lines; within an open block of code the lines before the last do.  Follows
CommonMark as `markdown-it` reads it, with tables and struck-out text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, ClassVar, NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.style import Style
from rich.theme import Theme
from textual.strip import Strip

from wisp.frontends.tui.lines import Line, Segment, Text, blank, console, fitted, lines_of, space, wrapped
from wisp.frontends.tui.look import Look, readable
from wisp.host.showing import Shown, safe

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)\n?")
_BLANK = re.compile(r"(?:[ \t]*\n)+")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*\S", re.MULTILINE)
_LINES = re.compile("[\u2500-\u258f]")
MOST_HIGHLIGHTED = 60_000
"""Characters of one block of code that are coloured; longer ones stay plain."""


class Streamed:
    """One text in Markdown that may still grow, as lines for a width and a look.

    Lines are kept: asking again without a change costs nothing.

    Args:
        text: what is there already.
        whole: whether nothing more comes.
        indent: cells that stay empty on the left; on the right it is one where there is an indent.
    """

    def __init__(self, text: str = "", *, whole: bool = False, indent: int = 0) -> None:
        self._indent = indent
        self._raw = text.replace("\r", "")
        self._whole = whole
        self._frozen_at = 0
        """Characters of the text whose lines stand in `_frozen`."""
        self._frozen: list[Strip] = []
        self._tail: list[Strip] = []
        self._fence: _OpenCode | None = None
        self._last = Block(0, 0)
        self._key: tuple[int, str, bool] | None = None
        self._drawn = -1
        """Length of the text that the lines show."""

    @property
    def text(self) -> str:
        """What arrived so far, as it came."""
        return self._raw

    def forget(self) -> None:
        """Let the drawn lines go."""
        self._key, self._frozen, self._tail = None, [], []

    def append(self, delta: str) -> None:
        """More of it."""
        self._raw += delta.replace("\r", "")

    def finish(self, text: str) -> None:
        """It is whole, and this is what it says."""
        text = text.replace("\r", "")
        again = text != self._raw or (_REFERENCE.search(text) is not None and not self._whole)
        self._raw, self._whole, self._drawn = text, True, -1
        if again:
            self._key = None

    def lines(self, width: int, look: Look) -> list[Strip]:
        """The lines as they are now."""
        if self._key != (width, look.name, look.spoken):
            self._key = (width, look.name, look.spoken)
            self._frozen, self._tail, self._frozen_at, self._fence, self._drawn = [], [], 0, None, -1
            self._last = Block(0, 0)
        if self._drawn != len(self._raw):
            self._draw(width, look)
            self._drawn = len(self._raw)
        return self._frozen + self._tail if self._tail else self._frozen

    def _draw(self, width: int, look: Look) -> None:
        if self._whole and _REFERENCE.search(self._raw):  # a link may be explained anywhere
            self._frozen, self._frozen_at = [], len(self._raw)
            self._tail = self._framed(drawn(safe(self._raw), self._inner(width), look), width, look)
            return
        while True:
            if self._fence is None and (empty := _BLANK.match(self._raw, self._frozen_at)):
                self._frozen_at = empty.end()  # else a fence after empty lines would not be seen to be one
            rest = self._raw[self._frozen_at :]
            if self._fence is None and (opened := _FENCE.match(rest)) and opened[0].endswith("\n"):
                self._fence = _OpenCode(opened, self._frozen_at)
            if self._fence is not None:
                if not self._code(self._fence, width, look):
                    return
                continue
            found = blocks(rest)
            for block in found[:-1]:
                self._block(rest[block.start : block.end], block, width, look)
            if len(found) < 2:
                break
            self._frozen_at += found[-1].start
            if not _FENCE.match(self._raw, self._frozen_at):
                rest, found = self._raw[self._frozen_at :], blocks(self._raw[self._frozen_at :])
                break
        self._tail = []
        if found:
            kept, last = self._frozen, self._last
            self._frozen = []
            self._block(rest, found[-1], width, look, after=bool(kept))
            self._tail, self._frozen, self._last = self._frozen, kept, last

    def _code(self, fence: _OpenCode, width: int, look: Look) -> bool:
        """Draw an open block of code; whether it was closed and frozen."""
        body = self._raw[fence.start :]
        closed = fence.closing(body, whole=self._whole)
        space = self._space(width, look, bool(self._frozen))
        if closed is not None:
            end, after = closed
            strips = self._framed(fence.drawn(body[:end], self._inner(width), look), width, look)
            self._frozen += [*space, *strips]
            self._frozen_at = fence.start + after
            self._fence, self._tail, self._last = None, [], Block(0, 0)
            return True
        new, last = fence.grown(body, self._inner(width), look)
        fence.kept += self._framed(new, width, look)
        self._tail = [*space, *fence.kept, *self._framed(last, width, look)]
        return False

    def _block(self, text: str, block: Block, width: int, look: Look, *, after: bool = False) -> None:
        """Freeze one block; items of a list stand close and are counted on."""
        follows = bool(block.item) and block.item == self._last.item
        number = self._last.number + 1 if follows else block.number
        number_ = number if block.item == "1" else None
        strips = fenced(text, self._inner(width), look)
        if strips is None:
            strips = drawn(safe(text), self._inner(width), look, number_)
        strips = self._framed(strips, width, look)
        if strips:
            space = [] if follows else self._space(width, look, bool(self._frozen) or after)
            self._frozen += [*space, *strips]
            self._last = block._replace(number=number)

    def _inner(self, width: int) -> int:
        return max(1, width - self._indent - 1) if self._indent else width

    def _framed(self, strips: list[Strip], width: int, look: Look) -> list[Strip]:
        """Lines with the indent."""
        if not self._indent:
            return strips
        base = look.style()
        lead = space(self._indent, base)
        return [Strip([lead, *strip]).adjust_cell_length(width, base).simplify() for strip in strips]

    @staticmethod
    def _space(width: int, look: Look, wanted: bool) -> list[Strip]:
        return [blank(width, look.style())] if wanted else []


class _OpenCode:
    """A fenced block whose end has not come: its whole lines are coloured once."""

    def __init__(self, opened: re.Match[str], at: int) -> None:
        mark = opened[1]
        self.language = opened[2].strip()
        self.start = at + opened.end()
        indent = opened.start(1) - opened.start()
        self._indent = re.compile(rf"^ {{1,{indent}}}", re.MULTILINE) if indent else None
        self.kept: list[Strip] = []
        """Lines that are whole, as they are shown."""
        self._mark = mark
        self._end = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$\n?", re.MULTILINE)
        self._searched = 0
        self._at = 0

    def flush(self, code: str) -> str:
        """Lines of code without the indent that the fence has."""
        return self._indent.sub("", code) if self._indent is not None else code

    def drawn(self, code: str, width: int, look: Look) -> list[Strip]:
        """The whole of it, once it is known."""
        return code_lines(safe(safe(self.flush(code)).rstrip("\n")), self.language, width, look)

    def closing(self, body: str, *, whole: bool) -> tuple[int, int] | None:
        """Where the code ends, and where what follows begins."""
        found = self._end.search(body, self._searched)
        if found is None and whole:  # it was never closed: it goes to the end
            return len(body), len(body)
        if found is None or not (found[0].endswith("\n") or whole):
            self._searched = max(0, body.rfind("\n") + 1)
            return None
        return found.start(), found.end()

    def grown(self, body: str, width: int, look: Look) -> tuple[list[Strip], list[Strip]]:
        """Lines that have become whole, and the one that has not.

        A line coloured alone may be coloured otherwise once the block is whole.
        """
        whole, new = body.rfind("\n") + 1, list[Strip]()
        if whole > self._at:
            new = code_lines(safe(self.flush(body[self._at : whole - 1])), self.language, width, look)
            self._at = whole
        last = body[whole:]
        closing = last.strip() and set(last.strip()) == {self._mark[0]}
        return new, code_lines(safe(self.flush(last)), "", width, look) if last and not closing else []


class Block(NamedTuple):
    """One block at the top of a text, or one item of a list there."""

    start: int
    end: int
    item: str = ""
    """`-` or `1` for an item of a list of that kind."""
    number: int = 1


def blocks(text: str) -> list[Block]:
    """The blocks of `text` in order.  No text that follows can change any but the last.

    A list's items count as blocks of their own, so that a long list does not stay open as a whole.
    """
    found: list[tuple[int, str, int]] = []
    kind, number = "", 1
    for token in _parser(inline=False).parse(text):
        if not token.map or token.nesting < 0:
            continue
        if token.level == 0:
            kind = {"bullet_list_open": "-", "ordered_list_open": "1"}.get(token.type, "")
            number = int(token.attrGet("start") or 1) if kind == "1" else 1
            if not kind:
                found.append((token.map[0], "", 1))
        elif token.level == 1 and kind and token.type == "list_item_open":
            found.append((token.map[0], kind, number))
            number += 1
    starts = [0]
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        starts.append(starts[-1] + len(line))
    places = [starts[line] for line, _, _ in found] + [len(text)]
    return [Block(places[at], places[at + 1], item, number) for at, (_, item, number) in enumerate(found)]


def fenced(text: str, width: int, look: Look) -> list[Strip] | None:
    """A block of code at the top of a text, drawn as one that arrives; None for a block of another kind."""
    opened = _FENCE.match(text)
    if opened is None or not opened[0].endswith("\n"):
        return None
    fence = _OpenCode(opened, 0)
    ends = fence.closing(text[opened.end() :], whole=True)
    assert ends is not None
    return fence.drawn(text[opened.end() :][: ends[0]], width, look)


def drawn(text: Shown, width: int, look: Look, number: int | None = None) -> list[Strip]:
    """Blocks of Markdown, drawn.  A list at the beginning counts from `number`."""
    if not text.strip():
        return []
    with console().use_theme(_styles(look)):
        strips = lines_of(_page(look).of(text, number), width, look.style())
    if look.spoken:
        strips = [_unlined(strip) for strip in strips]
    while strips and not strips[-1].text.strip():
        strips.pop()
    while strips and not strips[0].text.strip():
        strips.pop(0)
    return strips


def _unlined(strip: Strip) -> Strip:
    """A row without what is drawn with lines: rules, borders of tables and quotes."""
    return Strip(
        [segment._replace(text=_LINES.sub(" ", segment.text)) for segment in strip], strip.cell_length
    )


def code_lines(code: Shown, language: str, width: int, look: Look) -> list[Strip]:
    """A block of code on a ground of its own, coloured where the language is known."""
    base = look.style(on="panel")
    text: Line = Text(code, style=base)
    if language and code and len(code) <= MOST_HIGHLIGHTED:
        text = coloured(code, language, look)
    inner = max(1, width - 2)
    return [
        fitted([space(1, base), *line.render(console(), end="")], width, base)
        for line in wrapped(text, inner)
    ]


def coloured(code: Shown, language: str, look: Look) -> Line:
    """Code with the colours of its language, plain where that is not known."""
    from rich.syntax import Syntax

    name = language.split(maxsplit=1)[0].partition("{")[0].strip(".,").lower()
    try:
        text = Syntax(code, name, theme=look.code, background_color=look.panel).highlight(code)
    except Exception:
        return Text(code)  # a lexer of another package failed: the code is shown without colours
    for at, span in enumerate(text.spans):  # no style of code is made for our ground
        if isinstance(span.style, Style) and (triplet := getattr(span.style.color, "triplet", None)):
            colour = readable(triplet.hex, look.panel, look.text)
            text.spans[at] = span._replace(style=span.style + Style(color=colour))
    return text[: len(code)]


@cache
def _parser(*, inline: bool) -> Any:
    """Reads Markdown; without `inline` only where the blocks are."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt().enable("strikethrough").enable("table")
    return parser if inline else parser.disable(["inline", "text_join"])


_STYLES: dict[str, Theme] = {}


def _styles(look: Look) -> Theme:
    if look.name not in _STYLES:
        _STYLES[look.name] = Theme(
            {
                "markdown.code": Style(color=look.accent, bgcolor=look.panel),
                "markdown.link": Style(color=look.accent),
                "markdown.link_url": Style(color=look.dim),
                "markdown.block_quote": Style(color=look.dim),
                "markdown.item.bullet": Style(color=look.accent),
                "markdown.item.number": Style(color=look.accent),
                "markdown.hr": Style(color=look.dim),
                "markdown.table.border": Style(color=look.dim),
                "markdown.table.header": Style(color=look.accent, bold=True),
                "markdown.em": Style(italic=True),
                "markdown.strong": Style(bold=True),
                "markdown.s": Style(strike=True),
                **{f"markdown.h{n}": Style(color=look.accent, bold=True) for n in range(1, 7)},
            },
            inherit=True,
        )
    return _STYLES[look.name]


class _Title(Heading):
    """A heading at the left, marked by weight and colour alone."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console, options
        self.text.justify = "left"
        if self.tag == "h1":
            self.text.stylize("underline")
        elif self.tag not in ("h2", "h3"):
            self.text.stylize("not bold")
        yield self.text


class _Code(CodeBlock):
    """A block of code within other blocks."""

    look: ClassVar[Look]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        code = safe(str(self.text).rstrip("\n"))
        language = "" if self.lexer_name == "text" else self.lexer_name
        for strip in code_lines(code, language, options.max_width, self.look):
            yield from strip
            yield Segment.line()


class _Page(Markdown):
    """Markdown drawn by a look.  One serves many texts: making the parser costs more than most blocks."""

    def __init__(self, look: Look) -> None:
        super().__init__("", hyperlinks=False)
        code: type[MarkdownElement] = type("_LookCode", (_Code,), {"look": look})
        own: dict[str, type[MarkdownElement]] = {"heading_open": _Title, "fence": code, "code_block": code}
        self.elements = {**Markdown.elements, **own}  # type: ignore[misc]  # ours alone, not the class's

    def of(self, text: Shown, number: int | None = None) -> _Page:
        """Itself, showing `text`; a list at the beginning counts from `number`."""
        self.markup, self.parsed = text, _parser(inline=True).parse(text)
        if "&" in text:  # a character may be written by its number, which is read only here
            for token in self.parsed:
                for child in token.children or ():
                    child.content = safe(child.content)
        if number is not None and self.parsed and self.parsed[0].type == "ordered_list_open":
            self.parsed[0].attrs["start"] = number
        return self


@cache
def _page(look: Look) -> _Page:
    return _Page(look)
