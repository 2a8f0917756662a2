"""A Jupyter notebook as text: its cells, and the beginnings of their outputs."""

from __future__ import annotations

from typing import Any

from wisp.tools.render import clip_bytes, plain_output, plural

OUTPUT_LINES, OUTPUT_BYTES = 20, 2000
"""Most of one output that is shown."""
MAX_OUTPUTS = 20
"""Most outputs of one cell that are shown."""


def cells_of(text: str) -> list[dict[str, Any]] | None:
    """The cells of a notebook of any format version; None when it is none."""
    import json

    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(whole, dict):
        return None
    found = whole.get("cells")
    if found is None and isinstance(whole.get("worksheets"), list):
        found = [
            c for sheet in whole["worksheets"] if isinstance(sheet, dict) for c in _list(sheet.get("cells"))
        ]
    if not isinstance(found, list) or not all(isinstance(cell, dict) for cell in found):
        return None
    return found


def as_lines(cells: list[dict[str, Any]]) -> list[str]:
    """What is shown of them."""
    lines: list[str] = []
    for number, cell in enumerate(cells, 1):
        kind = str(cell.get("cell_type", "?"))[:20]
        count = cell.get("execution_count", cell.get("prompt_number"))
        run = f", run {count}" if isinstance(count, int) else ""
        lines.append(f"# --- cell {number} ({kind}{run})")
        lines += _joined(cell.get("source", cell.get("input"))).split("\n")
        outputs = _list(cell.get("outputs"))
        for output in outputs[:MAX_OUTPUTS]:
            if isinstance(output, dict):
                lines += _output(output)
        if len(outputs) > MAX_OUTPUTS:
            lines.append(f"# ... {plural(len(outputs) - MAX_OUTPUTS, 'output')} more")
    return lines


def _output(output: dict[str, Any]) -> list[str]:
    kind = output.get("output_type")
    if kind == "error" or kind == "pyerr":
        text = (
            "\n".join(map(str, _list(output.get("traceback"))))
            or f"{output.get('ename')}: {output.get('evalue')}"
        )
        return ["# error:", *_cut(text, tail=True)]
    if "text" in output:
        return ["# output:", *_cut(_joined(output["text"]))]
    data = output.get("data")
    if not isinstance(data, dict):
        return []
    others = [str(name)[:60] for name in data if name != "text/plain"]
    shown = _cut(_joined(data["text/plain"])) if "text/plain" in data else []
    return [f"# output{' also as ' + ', '.join(others[:5]) if others else ''}:", *shown]


def _cut(text: str, *, tail: bool = False) -> list[str]:
    """A bounded piece of an output: its beginning, or with `tail` its end."""
    room = 4 * OUTPUT_BYTES
    lines = plain_output(text[-room:] if tail else text[:room]).rstrip("\n").split("\n")
    kept = lines[-OUTPUT_LINES:] if tail else lines[:OUTPUT_LINES]
    shown = clip_bytes("\n".join(kept), OUTPUT_BYTES).split("\n")
    total = text.rstrip("\n").count("\n") + 1
    if len(text) > room or len(shown) < total or shown != kept:
        shown.insert(0 if tail else len(shown), f"# ... cut, {plural(total, 'line')} in all")
    return shown


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return "".join(map(str, value))
    return "" if value is None else str(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
