"""Builds the site from the book, the guide and the reference: static files that work from the file system.

    python book/build.py [--out FOLDER]

Needs the development environment (markdown-it-py, Pygments).  Nothing on a page is fetched from anywhere: the
search index is a script, diagrams are drawn here, and sources that a page refers to become pages themselves.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from html import escape, unescape
from pathlib import Path
from string import Template

from changes import changes_before
from diagrams import alternative, draw
from highlighting import coloured, highlighted, indented, row
from markdown_it import MarkdownIt
from markdown_it.token import Token
from sources import UnknownPiece, span
from traces import table
from weave import CHECKOUT, check, printed

BOOK = CHECKOUT / "book"
THEME = BOOK / "theme"
WORDS_PER_MINUTE = 200
LINES_PER_MINUTE = 30


class BrokenLink(Exception):
    """A link leads nowhere."""


@dataclass
class Page:
    """One page of the site."""

    source: Path
    section: str
    title: str = ""
    html: str = ""
    headings: list[tuple[int, str, str]] = field(default_factory=list)
    """Level, anchor and text."""
    minutes: int = 0

    @property
    def url(self) -> str:
        """Its address, relative to the site's root."""
        path = self.source.relative_to(CHECKOUT).with_suffix(".html")
        return path.as_posix().removeprefix("book/").removeprefix("docs/")


def collect() -> list[Page]:
    """Every page, in reading order."""
    docs = CHECKOUT / "docs"
    front = [BOOK / "index.md", BOOK / "how_to_read.md"]
    return [
        *(Page(path, "Book") for path in front if path.exists()),
        *(Page(path, "Book") for path in sorted((BOOK / "chapters").glob("*.md"))),
        *(Page(path, "Case studies") for path in sorted((BOOK / "case_studies").glob("*.md"))),
        *(Page(path, "Book") for path in [BOOK / "glossary.md"] if path.exists()),
        *(Page(path, "Guide") for path in sorted((docs / "guide").glob("*.md"))),
        *(Page(path, "Reference") for path in sorted((docs / "reference").glob("*.md"))),
        *(Page(path, "Reference") for path in [docs / "architecture.md", docs / "soak.md"]),
    ]


class Site:
    """Renders pages; keeps what they have in common."""

    def __init__(self, pages: list[Page], out: Path) -> None:
        self.pages = pages
        self.out = out
        self.by_source = {page.source: page for page in pages}
        self.sources: set[Path] = set()
        self._diagrams = 0
        self._markdown = MarkdownIt("commonmark", {"html": True, "highlight": None}).enable(
            ["table", "strikethrough"]
        )

        def fence(renderer: object, tokens: list[Token], index: int, options: object, env: object) -> str:
            return self._fence(tokens, index)

        self._markdown.add_render_rule("fence", fence)
        self._page = pages[0]

    def parse(self, page: Page) -> list[Token]:
        """Read a page's Markdown, name its headings and follow its links.

        Raises:
            BrokenLink: One of them leads nowhere.
        """
        self._page = page
        tokens = self._markdown.parse(page.source.read_text(encoding="utf-8"))
        self._number_headings(page, tokens)
        for token in tokens:
            for child in token.children or []:
                if child.type == "link_open":
                    child.attrSet("href", self._link(page, str(child.attrGet("href"))))
        return tokens

    def render(self, page: Page, tokens: list[Token]) -> None:
        """Turn a page into HTML."""
        self._page = page
        page.html = self._markdown.renderer.render(tokens, self._markdown.options, {})
        page.html = page.html.replace("<pre><code>", '<pre tabindex="0"><code>')  # code that is indented
        page.html = re.sub(r"<table>(?!<caption)", '<div class="scroll" tabindex="0"><table>', page.html)
        page.html = re.sub(r"(<div class=\"scroll\".*?</table>)", r"\1</div>", page.html, flags=re.DOTALL)
        page.html = re.sub(r"<!-- (\w+): (.+?) -->", self._directive, page.html)
        code = sum(token.content.count("\n") for token in tokens if token.type == "fence")
        words = sum(len(token.content.split()) for token in tokens if token.type == "inline")
        page.minutes = max(1, round(words / WORDS_PER_MINUTE + code / LINES_PER_MINUTE))

    def _number_headings(self, page: Page, tokens: list[Token]) -> None:
        used: set[str] = set()
        for number, token in enumerate(tokens):
            if token.type != "heading_open":
                continue
            words = re.sub("[`'\u2019]", "", tokens[number + 1].content)
            anchor = base = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "section"
            while anchor in used:
                anchor = f"{base}-{len(used)}"
            used.add(anchor)
            token.attrSet("id", anchor)
            level = int(token.tag[1])
            if level == 1 and not page.title:
                page.title = words
            page.headings.append((level, anchor, words))

    def _link(self, page: Page, target: str) -> str:
        """Where a link leads on the site; a link to a source leads to the line where the name stands."""
        if re.match(r"[a-z]+:|#", target):
            return target
        path_text, _, anchor = target.partition("#")
        path = (page.source.parent / path_text).resolve()
        if path in self.by_source:
            return self._relative(self.by_source[path].url) + (f"#{anchor}" if anchor else "")
        if path.suffix == ".py" and path.is_file():
            self.sources.add(path)
            line = ""
            if anchor:
                try:
                    line = f"#L{span(path, anchor)[0]}"
                except UnknownPiece as error:
                    raise BrokenLink(f"{page.source.name}: {error}") from error
            return self._relative(self.source_url(path)) + line
        if path.is_file() and path.is_relative_to(CHECKOUT):
            copied = self.out / "files" / path.relative_to(CHECKOUT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
            return self._relative(f"files/{path.relative_to(CHECKOUT).as_posix()}")
        if path.is_dir() and path.is_relative_to(CHECKOUT):
            return self._relative("index.html")
        raise BrokenLink(f"{page.source.name}: {target} leads nowhere")

    def source_url(self, path: Path) -> str:
        """The page of a source file."""
        return f"source/{path.relative_to(CHECKOUT).as_posix()}.html"

    def _relative(self, url: str) -> str:
        return posixpath.relpath(url, posixpath.dirname(self._page.url) or ".")

    def _fence(self, tokens: list[Token], index: int) -> str:
        """A block of code, with a caption that says what it is and a button to copy it."""
        token = tokens[index]
        words = shlex.split(token.info)
        language = words[0] if words else "text"
        extra = dict(word.partition("=")[::2] for word in words[1:])
        if "diagram" in extra:
            return self._figure(token.content)
        body = highlighted(token.content, language)
        caption = ""
        if "listing" in extra:
            name = extra["listing"]
            path = CHECKOUT / "examples/crafting_agents" / re.split("[#:]", name)[0]
            self.sources.add(path)
            link = self._relative(self.source_url(path))
            words_of = re.sub(r"\.(head|body)\b", r" (\1)", name.replace("#", ", region ").replace(":", ", "))
            words_of = words_of.replace("..", " to ")
            caption = f'<figcaption><a href="{link}">{escape(words_of)}</a></figcaption>'
        elif "exercise" in extra:
            caption = f"<figcaption>exercises/{escape(extra['exercise'])}</figcaption>"
        return f'<figure class="code">{caption}{body}</figure>\n'

    def _figure(self, text: str) -> str:
        """A diagram as two images, of which the style sheet shows the one that fits the theme."""
        self._diagrams += 1
        images = []
        for theme in ("light", "dark"):
            url = f"diagrams/{self._diagrams}-{theme}.svg"
            put(self.out / url, draw(text, theme))
            images.append(
                f'<img class="{theme}" src="{self._relative(url)}" alt="{escape(alternative(text))}">'
            )
        return (
            f"<figure>{''.join(images)}<details><summary>As text</summary>"
            f'<pre tabindex="0" class="printed">{escape(text)}</pre></details></figure>\n'
        )

    def _directive(self, found: re.Match[str]) -> str:
        kind, value = found[1], unescape(found[2])
        if kind == "trace":
            output = printed(value)[0]
            return table(output, f"Trace of {value}, step by step")
        if kind == "changes":
            return changes_before(int(value))
        return found[0]


def navigation(site: Site, current: str) -> str:
    """The list of pages, seen from one of them."""
    parts = []
    for section in ("Book", "Case studies", "Guide", "Reference"):
        items = []
        for page in (page for page in site.pages if page.section == section):
            here = ' aria-current="page"' if page.url == current else ""
            link = posixpath.relpath(page.url, posixpath.dirname(current) or ".")
            items.append(f'<li><a href="{link}"{here}>{escape(page.title)}</a></li>')
        if items:
            parts.append(f"<h2>{section}</h2><ul>{''.join(items)}</ul>")
    return "".join(parts)


def fill(site: Site, url: str, title: str, body: str, *, footer: str = "", note: str = "") -> str:
    """A whole page from the template."""
    root = posixpath.relpath(".", posixpath.dirname(url) or ".")
    template = Template((THEME / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(title), root=root, navigation=navigation(site, url), body=body, footer=footer, note=note
    )


def neighbours(site: Site, page: Page) -> str:
    """Links to the page before and the page after."""
    number = site.pages.index(page)
    links = []
    for step, word, key in ((-1, "Previous", "prev"), (1, "Next", "next")):
        if 0 <= number + step < len(site.pages):
            other = site.pages[number + step]
            link = posixpath.relpath(other.url, posixpath.dirname(page.url) or ".")
            links.append(f'<a rel="{key}" href="{link}">{word}: {escape(other.title)}</a>')
    return f'<nav class="neighbours" aria-label="Pages before and after">{"".join(links)}</nav>'


def search_entries(page: Page) -> list[dict[str, str]]:
    """What can be found on a page: each section by itself."""
    entries = []
    parts = re.split(r'<h([1-3]) id="([^"]+)">(.*?)</h\1>', page.html)
    for start in range(1, len(parts) - 3, 4):
        anchor, heading, body = parts[start + 1], parts[start + 2], parts[start + 3]
        words = unescape(re.sub(r"<[^>]+>", " ", body))
        entries.append(
            {
                "url": f"{page.url}#{anchor}",
                "page": page.title,
                "title": unescape(re.sub(r"<[^>]+>", "", heading)),
                "text": re.sub(r"\s+", " ", words).strip()[:4_000],
            }
        )
    return entries


def write_sources(site: Site) -> None:
    """A page for each source file that is referred to, with a mark on every line."""
    for path in sorted(site.sources):
        url = site.source_url(path)
        code = path.read_text(encoding="utf-8")
        inner = coloured(code, "python")
        lines = "".join(
            row(before, indented(line), "line", f"L{number}")
            for number, (before, line) in enumerate(zip(code.split("\n"), inner, strict=False), 1)
        )
        name = path.relative_to(CHECKOUT).as_posix()
        body = f'<h1>{name}</h1><pre class="source listing" tabindex="0"><code>{lines}</code></pre>'
        put(site.out / url, fill(site, url, name, body))


def put(path: Path, text: str) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def moved(page: Page, found: re.Match[str]) -> str:
    """A link of a page, as it has to be written at the top of the site."""
    return f'{found[1]}="{posixpath.normpath(posixpath.join(posixpath.dirname(page.url), found[2]))}"'


def write_print_page(site: Site) -> None:
    """The whole book on one page, for paper."""
    chapters = [page for page in site.pages if page.section in ("Book", "Case studies")]
    body, answers = [], []
    for page in chapters:
        slug = re.sub(r"\W+", "-", page.url.removesuffix(".html"))
        html = re.sub(r'\bid="([^"]+)"', rf'id="{slug}-\1"', page.html)
        html = re.sub(r'href="#([^"]+)"', rf'href="#{slug}-\1"', html)
        html = re.sub(
            r'\b(href|src)="(?![a-z]+:|#)([^"]+)"', lambda found, page=page: moved(page, found), html
        )
        html, found = without_answers(html)
        answers += [f"<h2>{escape(page.title)}</h2>{''.join(found)}"] if found else []
        body.append(f'<article class="chapter">{html}</article>')
    body.append(f'<article class="chapter"><h1>Answers and solutions</h1>{"".join(answers)}</article>')
    put(site.out / "print.html", fill(site, "print.html", "Crafting Coding Agents", "".join(body)))


def without_answers(html: str) -> tuple[str, list[str]]:
    """A page without its folded answers, and these under headings: on paper nothing can be folded away."""
    folded = r"<details><summary>(Answers|A solution)</summary>(.*?)</details>\n*"
    answers = []
    for found in re.finditer(folded, html, re.DOTALL):
        exercise = re.findall(r"<h3[^>]*>(Exercise [\d.]+)", html[: found.start()])
        title = "Questions" if found[1] == "Answers" else exercise[-1]
        answers.append(f"<h3>{title}</h3>{found[2]}")
    return re.sub(folded, "", html, flags=re.DOTALL), answers


def build(out: Path) -> list[Page]:
    """Build everything into a folder, which is emptied first.

    Raises:
        BrokenLink: A link or a symbol that a page refers to does not exist.
        StalePages: A page does not show what the code is or does.
    """
    shutil.rmtree(out, ignore_errors=True)
    refuse(check(running=False))
    site = Site(collect(), out)
    tokens = [site.parse(page) for page in site.pages]
    refuse(check())
    for page, parsed in zip(site.pages, tokens, strict=True):
        site.render(page, parsed)
    entries = []
    for page in site.pages:
        note = f'<p class="note">About {page.minutes} minutes.</p>' if page.section == "Book" else ""
        put(
            out / page.url,
            fill(site, page.url, page.title, page.html, footer=neighbours(site, page), note=note),
        )
        entries += search_entries(page)
    write_sources(site)
    write_print_page(site)
    for name in ("style.css", "site.js"):
        put(out / name, (THEME / name).read_text(encoding="utf-8"))
    put(out / "search.js", f"window.searchEntries = {json.dumps(entries, separators=(',', ':'))};\n")
    return site.pages


class StalePages(Exception):
    """Pages and code disagree."""


def refuse(problems: list[str]) -> None:
    """Raise StalePages if there are any."""
    if problems:
        raise StalePages("\n".join(problems))


def main(argv: list[str]) -> int:
    """Refuse stale pages, then build."""
    parser = argparse.ArgumentParser(description="Build the site.")
    parser.add_argument("--out", type=Path, default=CHECKOUT / "build" / "site")
    options = parser.parse_args(argv)
    try:
        pages = build(options.out)
    except (BrokenLink, StalePages) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(pages)} pages in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
