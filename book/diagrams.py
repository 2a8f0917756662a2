"""Draws a diagram from the lines of text that stand in the page, as SVG for light pages and dark ones.

Each line is `A -> B` or `A -> B: label`.  The text is the diagram's alternative as well, so there is no second
description that could become wrong.  Layers are longest paths from the top; an arrow that leads back up runs
along the left side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

CHARACTER = 8.2
LINE = 20
PAD = 14
GAP_X = 34
GAP_Y = 46
WRAP = 22


class BadDiagram(Exception):
    """A line is not an arrow."""


@dataclass(frozen=True)
class Arrow:
    """One line of a diagram."""

    tail: str
    head: str
    label: str


@dataclass
class Box:
    """A node with its place, in pixels."""

    name: str
    lines: list[str]
    width: float
    height: float
    x: float = 0
    y: float = 0


def parse(text: str) -> list[Arrow]:
    """Read the arrows."""
    arrows = []
    for line in text.strip().splitlines():
        found = re.fullmatch(r"(.+?) -> (.+?)(?:: (.+))?", line.strip())
        if found is None:
            raise BadDiagram(f"no arrow: {line!r}")
        arrows.append(Arrow(found[1], found[2], found[3] or ""))
    return arrows


def layers_of(arrows: list[Arrow]) -> tuple[dict[str, int], list[Arrow]]:
    """Each node's layer, and the arrows that lead back up."""
    nodes = list(dict.fromkeys(name for arrow in arrows for name in (arrow.tail, arrow.head)))
    back: list[Arrow] = []
    state: dict[str, int] = {}

    def visit(name: str) -> None:
        state[name] = 1
        for arrow in arrows:
            if arrow.tail == name:
                if state.get(arrow.head) == 1:
                    back.append(arrow)
                elif arrow.head not in state:
                    visit(arrow.head)
        state[name] = 2

    for name in nodes:
        if name not in state:
            visit(name)
    layer = dict.fromkeys(nodes, 0)
    for _ in nodes:
        for arrow in arrows:
            if arrow not in back:
                layer[arrow.head] = max(layer[arrow.head], layer[arrow.tail] + 1)
    return layer, back


def wrap(name: str) -> list[str]:
    """Break a name into lines of about WRAP characters."""
    lines = [""]
    for word in name.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WRAP:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def place(layer: dict[str, int], margin: float) -> dict[str, Box]:
    """Put the boxes of each layer side by side, centred."""
    boxes = {}
    for name in layer:
        lines = wrap(name)
        width = max(len(line) for line in lines) * CHARACTER + 2 * PAD
        boxes[name] = Box(name, lines, width, len(lines) * LINE + PAD)
    rows = [
        [boxes[name] for name in layer if layer[name] == number] for number in range(max(layer.values()) + 1)
    ]
    widest = max(sum(box.width for box in row) + GAP_X * (len(row) - 1) for row in rows)
    y = 8.0
    for row in rows:
        x = margin + (widest - sum(box.width for box in row) - GAP_X * (len(row) - 1)) / 2
        tallest = max(box.height for box in row)
        for box in row:
            box.x, box.y = x, y + (tallest - box.height) / 2
            x += box.width + GAP_X
        y += tallest + GAP_Y
    return boxes


COLOURS = {
    "light": {"ink": "#1c2430", "soft": "#f1f0ea", "edge": "#8d8a7c", "quiet": "#555e6b", "paper": "#fdfdfb"},
    "dark": {"ink": "#e6e7ea", "soft": "#1f242c", "edge": "#6b7787", "quiet": "#a9b2bf", "paper": "#14171c"},
}
STYLE = (
    'text{{font:14px ui-monospace,"DejaVu Sans Mono",monospace;fill:{ink}}}.label{{font-size:13px;fill:{quiet};'
    # A rim in the colour of the page, where a label lies on a line.
    "paint-order:stroke;stroke:{paper};stroke-width:6px}}"
    "rect{{fill:{soft};stroke:{edge};stroke-width:1.5}}path{{fill:none;stroke:{quiet};stroke-width:1.5}}"
    "marker path{{fill:{quiet};stroke:none}}"
)


def alternative(text: str) -> str:
    """The diagram in one sentence, for those who do not see it."""
    return "; ".join(text.strip().splitlines())


def draw(text: str, theme: str) -> str:
    """The SVG of a diagram in the colours of a theme, light or dark."""
    arrows = parse(text)
    layer, back = layers_of(arrows)
    margin = 12.0 + 30 * len(back) + (60 if any(arrow.label for arrow in back) else 0)
    boxes = place(layer, margin)
    width = max(box.x + box.width for box in boxes.values()) + 12
    height = max(box.y + box.height for box in boxes.values()) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}"><style>{STYLE.format(**COLOURS[theme])}</style>'
        f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker></defs>'
    ]
    for arrow in arrows:
        if arrow in back:
            lane = margin - 14 - 26 * back.index(arrow)
            parts.append(_around(boxes[arrow.tail], boxes[arrow.head], lane, arrow.label))
        else:
            parts.append(_down(boxes[arrow.tail], boxes[arrow.head], arrow.label))
    parts += [_box(box) for box in boxes.values()]
    return "".join(parts) + "</svg>"


def _box(box: Box) -> str:
    middle = box.x + box.width / 2
    top = box.y + PAD / 2 + 14
    words = "".join(
        f'<tspan x="{middle:.1f}" y="{top + LINE * number:.1f}">{escape(line)}</tspan>'
        for number, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"/>'
        f'<text text-anchor="middle">{words}</text>'
    )


def _down(tail: Box, head: Box, label: str) -> str:
    x1, y1 = tail.x + tail.width / 2, tail.y + tail.height
    x2, y2 = head.x + head.width / 2, head.y
    line = f'<path d="M{x1:.1f} {y1:.1f} L{x2:.1f} {y2 - 1:.1f}" marker-end="url(#arrow)"/>'
    return line + _label((x1 + x2) / 2 + 8, (y1 + y2) / 2 + 4, label, "start")


def _around(tail: Box, head: Box, lane: float, label: str) -> str:
    y1, y2 = tail.y + tail.height / 2, head.y + head.height / 2
    line = (
        f'<path d="M{tail.x:.1f} {y1:.1f} H{lane:.1f} V{y2:.1f} H{head.x - 1:.1f}" marker-end="url(#arrow)"/>'
    )
    return line + _label(lane - 6, (y1 + y2) / 2, label, "end")


def _label(x: float, y: float, label: str, anchor: str) -> str:
    if not label:
        return ""
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(label)}</text>'
