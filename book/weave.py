"""Keeps listings and transcripts in the chapters equal to the sources and to what the commands print.

    python book/weave.py check [PAGE...]    fails, with the place, when anything in a page is stale
    python book/weave.py write              brings the pages up to date
    python book/weave.py coverage           which executable lines of the teaching agent no page shows

A page names what it shows in the first line of a fence: `python listing=core.py#loop` for a piece of the
teaching agent, `python exercise=1.1/starter.py` for a file of an exercise, `console run="checkpoint_01"` for
what a command prints.  The content stands in the page as well, so that it can be read anywhere.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sources import UnknownPiece, executable_lines, find

CHECKOUT = Path(__file__).resolve().parents[1]
AGENT = CHECKOUT / "examples" / "crafting_agents"
MAX_LISTING = 40
FENCE = re.compile(r"^```(python|console|text)( [^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Stale(Exception):
    """A page does not show what it says it shows."""


@dataclass(frozen=True)
class Fence:
    """One fenced block that is bound to something."""

    page: Path
    line: int
    language: str
    options: dict[str, str]
    content: str
    start: int
    end: int
    """Where the content stands in the page's text."""


def pages() -> list[Path]:
    """Every page of the book."""
    book = CHECKOUT / "book"
    return (
        sorted(book.glob("*.md"))
        + sorted(book.glob("chapters/*.md"))
        + sorted(book.glob("case_studies/*.md"))
    )


def fences(page: Path) -> Iterator[Fence]:
    """The bound blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        options = dict(word.partition("=")[::2] for word in shlex.split(found[2]))
        line = text.count("\n", 0, found.start()) + 1
        yield Fence(page, line, found[1], options, found[3], found.start(3), found.end(3))


def expected(fence: Fence) -> str | None:
    """What the block has to contain; None for a block that is bound to nothing.

    Raises:
        UnknownPiece: It is bound to something that does not exist.
        Stale: It is bound to something that cannot be shown.
    """
    options = fence.options
    if "listing" in options:
        text = find(AGENT, options["listing"]).text
        if text.count("\n") > MAX_LISTING:
            raise Stale(
                f"{options['listing']} has {text.count(chr(10))} lines; a reader follows {MAX_LISTING}"
            )
        return text
    if "exercise" in options:
        path = AGENT / "exercises" / options["exercise"]
        if not path.is_file():
            raise UnknownPiece(f"there is no exercise file {options['exercise']}")
        return path.read_text(encoding="utf-8")
    if "run" in options:
        return transcript(options["run"], options.get("from", ""), options.get("to", ""))
    return None


@functools.cache
def printed(command: str) -> tuple[str, int]:
    """What a command of the book prints, and its exit status, with every time as 0.000s and every share as 0 %."""
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "80"}
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-m",
            f"examples.crafting_agents.{command.split(maxsplit=1)[0]}",
            *shlex.split(command)[1:],
        ],
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    text = re.sub(r"\b\d+\.\d{3}( ?s)\b", r"0.000\1", done.stdout.decode())
    return re.sub(r"\d+ % of \d+ ms", "0 % of 200 ms", text), done.returncode


def transcript(command: str, first: str, last: str) -> str:
    """The command line and its output, or the part of it from one line to another.

    Each end is given by how its line begins; what is left out is marked by a line of three dots.
    """
    text, status = printed(command)
    lines = text.splitlines()
    start = end = 0
    if first:
        start = position(lines, first, 0, command)
    end = position(lines, last, start, command) + 1 if last else len(lines)
    shown = [f"$ python3 -m examples.crafting_agents.{command}"]
    shown += ["..."] * (start > 0) + lines[start:end] + ["..."] * (end < len(lines))
    return "\n".join(shown + [f"(exit status {status})"] * (status != 0)) + "\n"


def position(lines: list[str], beginning: str, start: int, command: str) -> int:
    """The first line from start on that begins so."""
    for number in range(start, len(lines)):
        if lines[number].startswith(beginning):
            return number
    raise Stale(f"{command} prints no line that begins with {beginning!r}")


def check(chosen: list[Path] | None = None, *, running: bool = True) -> list[str]:
    """Every stale place of the pages, as `page:line: what`.

    What can be seen without running anything is looked at first; if that is stale, nothing is run.
    """
    every = [fence for page in chosen or pages() for fence in fences(page)]
    still = [fence for fence in every if "run" not in fence.options]
    problems = [problem for fence in still if (problem := stale(fence))]
    if problems or not running:
        return problems
    run = [fence for fence in every if "run" in fence.options]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(printed, dict.fromkeys(fence.options["run"] for fence in run)))
    return [problem for fence in run if (problem := stale(fence))]


def stale(fence: Fence) -> str | None:
    """What is wrong with a block, if anything is."""
    place = f"{fence.page.relative_to(CHECKOUT)}:{fence.line}"
    try:
        wanted = expected(fence)
    except (UnknownPiece, Stale) as problem:
        return f"{place}: {problem}"
    if wanted is not None and wanted != fence.content:
        return f"{place}: stale; run `python book/weave.py write` and read what changed"
    return None


def write() -> list[str]:
    """Bring every bound block up to date; what cannot be is returned as `page:line: why`."""
    problems = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for fence in reversed(list(fences(page))):
            try:
                wanted = expected(fence)
            except (UnknownPiece, Stale) as problem:
                problems.append(f"{page.relative_to(CHECKOUT)}:{fence.line}: {problem}")
                continue
            if wanted is not None:
                text = text[: fence.start] + wanted + text[fence.end :]
        page.write_text(text, encoding="utf-8")
    return problems


def coverage() -> dict[str, list[int]]:
    """For each module of the teaching agent, the executable lines that no page shows."""
    shown: dict[Path, set[int]] = {}
    for page in pages():
        for fence in fences(page):
            if "listing" in fence.options:
                piece = find(AGENT, fence.options["listing"])
                shown.setdefault(piece.path, set()).update(range(piece.first, piece.last + 1))
    return {
        path.name: missing
        for path in sorted(AGENT.glob("*.py"))
        # The program that judges the exercises is no part of the agent.
        if path.name != "__main__.py" and (missing := sorted(executable_lines(path) - shown.get(path, set())))
    }


def main(argv: list[str]) -> int:
    """Run one of the three commands."""
    match argv:
        case ["check", *names]:
            problems = check([Path(name).resolve() for name in names])
            print("\n".join(problems) or "every listing and transcript is fresh")
            return 1 if problems else 0
        case ["write"]:
            problems = write()
            print("\n".join(problems) or "every page is up to date")
            return 1 if problems else 0
        case ["coverage"]:
            missing = coverage()
            for name, lines in missing.items():
                print(f"{name}: {len(lines)} lines not shown: {', '.join(map(str, lines))}")
            print(f"{sum(map(len, missing.values()))} executable lines are in no chapter")
            return 1 if missing else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
