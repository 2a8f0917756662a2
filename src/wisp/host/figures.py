"""What takes the space of the next request, in lines for a person; the same in every front end."""

from __future__ import annotations

from wisp.host.events import ContextEstimated, Part

LARGEST = 8
"""Messages named one by one."""


def context_table(found: ContextEstimated) -> str:
    """Lines for a person."""
    basis = "by the provider's last count" if found.measured else "estimated"
    lines = [f"about {found.total:,} tokens ({basis})"]
    if found.window:
        share = 100 * found.total / found.window
        lines[0] += f" of {found.window:,}, {share:.0f} %; {found.reserve:,} are kept free for the answer"
    groups: dict[str, list[Part]] = {}
    for part in found.parts:
        groups.setdefault(part.kind, []).append(part)
    for kind, parts in sorted(groups.items(), key=lambda item: -sum(p.tokens for p in item[1])):
        lines.append(f"{sum(p.tokens for p in parts):>10,}  {kind.replace('_', ' ')} (estimate)")
        for part in parts if kind in ("system", "instructions", "skills") else ():
            lines.append(f"{part.tokens:>14,}  {_short(part.name)}")
    single = sorted((p for p in found.parts if p.message_id), key=lambda p: -p.tokens)[:LARGEST]
    if single:
        lines.append("largest messages:")
    lines += [f"{part.tokens:>14,}  {_short(part.name)}" for part in single]
    return "\n".join(lines)


def _short(name: str) -> str:
    return " ".join(name.split())[:80]
