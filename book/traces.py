"""Turns what a checkpoint prints into steps, for the table and the viewer in the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

START = re.compile(
    r"(?P<kind>turn|call|result|steering|follow-up|approval requested|approval granted|approval_denied|dispatch"
    r"|host sees|stopped|request|retry opening|kept text|tests|person|made room|overflow|killed)"
    r"(?P<name>[^:\n]*): ?(?P<text>.*)"
)
WORDS = {
    "turn": "The model answers",
    "call": "The host begins a call",
    "result": "The host records a result",
    "steering": "The person steers",
    "follow-up": "The person's next task",
    "stopped": "The run ends",
    "request": "The host sends a request",
}


@dataclass(frozen=True)
class Step:
    """One event of a trace."""

    kind: str
    name: str
    text: str


def steps_of(output: str) -> list[Step]:
    """The steps of a run; lines that begin no step belong to the one before."""
    steps: list[Step] = []
    for line in output.splitlines():
        found = START.match(line)
        if found:
            steps.append(Step(found["kind"], found["name"].strip(), found["text"]))
        elif steps:
            last = steps.pop()
            steps.append(Step(last.kind, last.name, f"{last.text}\n{line}"))
    return steps


def table(output: str, caption: str) -> str:
    """The steps as a table.  A script may show them one at a time; without it, this is all of it."""
    rows = []
    history = 0
    for number, step in enumerate(steps_of(output), 1):
        # Each answer and each result adds one row to the next request; a person's words add one too.
        history += step.kind in ("turn", "result", "steering", "follow-up")
        rows.append(
            f'<tr><th scope="row">{number}</th><td>{WORDS.get(step.kind, step.kind.capitalize())}</td>'
            f"<td>{escape(step.name) or '&#8212;'}</td><td>{history}</td><td><pre>{escape(step.text.rstrip()) or ' '}"
            f"</pre></td></tr>"
        )
    return (
        f'<div class="trace" data-trace tabindex="0" role="group" aria-label="{escape(caption)}">'
        f'<table><caption>{escape(caption)}</caption><thead><tr><th scope="col">Step</th>'
        f'<th scope="col">What happens</th><th scope="col">Which</th><th scope="col">Rows added</th>'
        f'<th scope="col">Content</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )
