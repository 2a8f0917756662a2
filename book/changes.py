"""What a chapter added to the teaching agent: its new modules, and how the shared ones changed."""

from __future__ import annotations

import difflib
from html import escape

from highlighting import row
from weave import AGENT

MODULES = {
    1: ("core.py", "checkpoint_01.py"),
    2: ("workbench.py", "scripted.py", "checkpoint_02.py"),
    3: ("context.py", "checkpoint_03.py"),
    4: ("streaming.py", "responses.py", "stream_replay.py", "openai_transport.py", "checkpoint_04.py"),
    5: ("side_effects.py", "checkpoint_05.py"),
    6: ("person.py", "steering.py", "checkpoint_06.py"),
    7: ("journal.py", "recorded.py", "checkpoint_07.py"),
    8: ("window.py", "checkpoint_08.py"),
    9: ("host.py", "renderings.py", "pipes.py", "checkpoint_09.py"),
    10: ("faults.py", "proof.py", "checkpoint_10.py"),
}


def changes_before(chapter: int) -> str:
    """The new modules by size, and the two checkpoints side by side as a diff."""
    rows = []
    for name in MODULES[chapter]:
        count = len((AGENT / name).read_text(encoding="utf-8").splitlines())
        rows.append(f"<tr><td><code>{name}</code></td><td>{count}</td></tr>")
    old, new = MODULES[chapter - 1][-1], MODULES[chapter][-1]
    diff = difflib.unified_diff(
        (AGENT / old).read_text(encoding="utf-8").splitlines(),
        (AGENT / new).read_text(encoding="utf-8").splitlines(),
        old,
        new,
        n=1,
        lineterm="",
    )
    lines = "".join(row(line[1:], escape(line), _kind(line)) for line in diff)
    return (
        '<details class="changes"><summary>What changed since the last chapter</summary>'
        '<table><caption>New modules</caption><thead><tr><th scope="col">Module</th>'
        f'<th scope="col">Lines</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
        f'<pre tabindex="0" class="listing"><code>{lines}</code></pre></details>'
    )


def _kind(line: str) -> str:
    return {"+": "added", "-": "removed"}.get(line[:1], "same")
