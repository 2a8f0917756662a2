"""Turns what a checkpoint prints into steps, for the table and the viewer in the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Kind:
    """How the lines of one kind of step begin, and what the step is called."""

    begins: str
    """A pattern; what its group matches says which call, turn or request it is."""
    words: str
    adds: bool = False
    """Whether the step adds a row to the conversation."""
    joins: bool = False
    """Whether lines of this kind that follow each other are one step, and are shown with their beginning."""


ANSWERS = ("The model answers",)
REFUSED = "The provider refuses"
BEFORE_AN_ANSWER = ("The answer arrives", "The opening is tried again", REFUSED, *ANSWERS)
REQUEST = "The host sends a request"
KINDS = (
    Kind(r"request (\d+):", REQUEST),
    Kind(r"retry opening:", "The opening is tried again"),
    Kind(r"(?:text delta|arguments buffered):()", "The answer arrives", joins=True),
    Kind(r"turn (\d+):", "The model answers", adds=True),
    Kind(r"assistant:", "The model answers", adds=True),
    Kind(r"call ([^ :]+):", "The host begins a call"),
    Kind(r"host sees:", "The host looks at the call"),
    Kind(r"approval requested:", "The host asks a person"),
    Kind(r"approval granted:", "The person agrees"),
    Kind(r"dispatch:", "The host carries it out"),
    Kind(r"asked:", "The host asks a person"),
    Kind(r"answered:", "The person answers"),
    Kind(r"tests:", "The tests"),
    Kind(r"result ([^ :]+):", "The host records a result", adds=True),
    Kind(r"steering:", "The person steers", adds=True),
    Kind(r"follow-up:", "The person's next task", adds=True),
    Kind(r"person: says", "The person says", adds=True),
    Kind(r"person:", "The person"),
    Kind(r"user:", "The person says"),
    Kind(r"kept text:", "The host keeps what was read", adds=True),
    Kind(r"made room:", "The host makes room"),
    Kind(r"overflow:", REFUSED),
    Kind(r"(?:record|replayed request)() ", "The journal", joins=True),
    Kind(r"history:", "The conversation"),
    Kind(r"(?:rows in|tokens by|refused by|executed|events)\b()", "The host reports", joins=True),
    Kind(
        r"(?:request fails|bug before effect|bug after effect|disk full)() ", "Faults are tried", joins=True
    ),
    Kind(r"final source:", "The file at the end"),
    Kind(r"(?:ended|stopped):", "The run ends"),
)


@dataclass
class Step:
    """One event of a trace."""

    words: str
    name: str
    text: str
    rows: int
    """How many rows the conversation has got since it began."""


def steps_of(output: str) -> Iterator[Step]:
    """The steps of a run; lines that begin no step belong to the one before.

    A run does not print its requests, but there is one before each answer, and it holds the rows so far.
    """
    step: Step | None = None
    requests = rows = 0
    waiting = False
    for line in output.splitlines():
        kind, found = next(((one, m) for one in KINDS if (m := re.match(one.begins, line))), (None, None))
        if kind is None or found is None or (step and kind.joins and kind.words == step.words):
            if step:
                step.text = f"{step.text}\n{line}"
            continue
        if step:
            yield step
        if kind.words == REQUEST or (kind.words in BEFORE_AN_ANSWER and not waiting):
            requests, waiting = requests + 1, True
            sent = "what the conversation began with" + (f", and {rows} rows" if rows else "")
            if kind.words != REQUEST:
                yield Step(REQUEST, str(requests), sent, rows)
        waiting = waiting and kind.words not in (REFUSED, *ANSWERS)
        rows += kind.adds
        text = line if kind.joins else line[found.end() :].strip(" ")
        step = Step(kind.words, (found[1] if found.re.groups else "") or "", text, rows)
    if step:
        yield step


def content(text: str) -> str:
    """What belongs to a step; a long text is scrolled, and the keyboard has to reach it for that."""
    stop = ' tabindex="0"' if text.count("\n") >= 12 else ""
    return f"<pre{stop}>{escape(text) or ' '}</pre>"


def which(name: str) -> str:
    """The cell with the turn or the call that a step belongs to, or with a dash, which a narrow window leaves out."""
    return f"<td>{escape(name)}</td>" if name else '<td class="none">&#8212;</td>'


def table(output: str, caption: str) -> str:
    """The steps as a table.  A script may show them one at a time; without it, this is all of it."""
    rows = [
        f'<tr><th scope="row">{number}</th><td>{step.words}</td>{which(step.name)}'
        f"<td>{step.rows}</td><td>{content(step.text.strip(chr(10)).rstrip())}</td></tr>"
        for number, step in enumerate(steps_of(output), 1)
    ]
    return (
        f'<div class="trace" data-trace tabindex="0" role="group" aria-label="{escape(caption)}">'
        f'<table><caption>{escape(caption)}</caption><thead><tr><th scope="col">Step</th>'
        f'<th scope="col">What happens</th><th scope="col">Which</th><th scope="col">Rows added</th>'
        f'<th scope="col">Content</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )
