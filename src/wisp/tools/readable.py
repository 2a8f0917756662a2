"""The readable text of a web page: headings, paragraphs, lists, tables, code and links; nothing else.  Pure.

Knows nothing of where a page comes from.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_SILENT = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "canvas",
        "iframe",
        "object",
        "head",
        "nav",
        "aside",
        "footer",
        "form",
        "button",
        "select",
    ]
)
"""What is inside of these is not read."""
_BLOCKS = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "main",
        "header",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "table",
        "tr",
        "blockquote",
        "figure",
        "figcaption",
        "address",
        "hr",
        "br",
        "details",
        "summary",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "li",
        "pre",
    ]
)
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_MAIN = ("main", "article")
_ENOUGH = 200
"""Characters that a page's main part must have to stand for the page."""


class Page:
    """What a page says.

    Args:
        html: its source.
        base: its address, which its links are relative to.
    """

    def __init__(self, html: str, base: str = "") -> None:
        reader = _Reader(base)
        reader.feed(html)
        reader.close()
        self.title = _squeezed(reader.title)
        """Of the document; empty where it has none."""
        main = _tidied(reader.main)
        self.text = main if len(main) >= _ENOUGH else _tidied(reader.whole)
        """What can be read: the main part where it is marked, else the whole."""


class _Reader(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self.title = ""
        self.whole: list[str] = []
        self.main: list[str] = []
        self._silent: list[str] = []
        self._in_title = False
        self._mains = 0
        self._pre = 0
        self._lists: list[list[int]] = []
        self._cells = 0
        self._links: list[tuple[str, int]] = []

    def _put(self, text: str) -> None:
        self.whole.append(text)
        if self._mains:
            self.main.append(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "title" and not self.title:
            self._in_title = True
        if tag in _SILENT and tag not in _VOID:
            self._silent.append(tag)
        if self._silent:
            return
        if tag in _MAIN:
            self._mains += 1
        if tag in _BLOCKS:
            self._put("\n" if tag in ("br", "tr", "li") else "\n\n")
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self._put("#" * int(tag[1]) + " ")
        elif tag == "pre":
            self._pre += 1
            self._put("```\n")
        elif tag == "code" and not self._pre:
            self._put("`")
        elif tag in ("ul", "ol"):
            self._lists.append([0] if tag == "ol" else [])
        elif tag == "li":
            self._item()
        elif tag in ("td", "th"):
            self._put(" | " if self._cells else "")
            self._cells += 1
        elif tag == "tr":
            self._cells = 0
        elif tag == "a":
            self._links.append((given.get("href") or "", len(self.whole)))
        elif tag == "img" and (about := (given.get("alt") or "").strip()):
            self._put(f"[image: {about}]")

    def _item(self) -> None:
        depth = max(len(self._lists) - 1, 0)
        mark = "- "
        if self._lists and self._lists[-1]:
            self._lists[-1][0] += 1
            mark = f"{self._lists[-1][0]}. "
        self._put("\x00" * (2 * depth) + mark)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._silent:
            if tag in self._silent:
                while self._silent.pop() != tag:
                    pass
            return
        if tag == "a" and self._links:
            href, since = self._links.pop()
            target = _joined(self._base, href)
            if target and "".join(self.whole[since:]).strip():
                self._put(f" ({target})")
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._put("\n```")
        elif tag == "code" and not self._pre:
            self._put("`")
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag in _BLOCKS and tag != "br":
            self._put("\n" if tag in ("li", "tr") else "\n\n")
        if tag in _MAIN and self._mains:
            self._mains -= 1

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            kept = data.replace("\x00", "")
            self._put(_kept(kept) if self._pre else re.sub(r"\s+", " ", kept))


def _kept(code: str) -> str:
    """Code, whose spaces must outlive the tidying."""
    return code.replace(" ", "\x00").replace("\t", "\x00" * 4).replace("\n", "\x01")


def _tidied(pieces: list[str]) -> str:
    text = "".join(pieces)
    text = re.sub(r"[ \t\r\f\v]+", " ", text)
    text = re.sub(r" ?\n ?", "\n", text)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return text.replace("\x00", " ").replace("\x01", "\n").strip()


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _joined(base: str, href: str) -> str:
    """Where a link leads; empty for what is no address of a page, and for places on the same one."""
    if not href or href.startswith("#"):
        return ""
    try:
        found = urljoin(base, href.strip())
    except ValueError:
        return ""
    return found if found.startswith(("http://", "https://")) and len(found) < 500 else ""
