"""`wisp context` and `/context`: what takes the space of the next request."""

from __future__ import annotations

import sys
from collections.abc import Callable

from wisp.frontends.cli.args import Invocation
from wisp.frontends.cli.exitcodes import OK
from wisp.frontends.cli.print import write_json
from wisp.frontends.cli.terminal import one_line, safe
from wisp.host.client import OpenFailed
from wisp.host.events import ContextEstimated, Part

LARGEST = 8
"""Messages named one by one."""


def run_context(invocation: Invocation, examine: Callable[[str], ContextEstimated]) -> int:
    """Print it for this folder's newest session, or for the one that is named."""
    try:
        found = examine(invocation.resume)
    except OpenFailed as exc:
        print(f"wisp: {safe(str(exc))}", file=sys.stderr)
        return exc.exit_code
    if invocation.json:
        import msgspec

        write_json(msgspec.to_builtins(found))
    else:
        print(context_table(found))
    return OK


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
            lines.append(f"{part.tokens:>14,}  {one_line(part.name, 80)}")
    single = sorted((p for p in found.parts if p.message_id), key=lambda p: -p.tokens)[:LARGEST]
    if single:
        lines.append("largest messages:")
    lines += [f"{part.tokens:>14,}  {one_line(part.name, 80)}" for part in single]
    return "\n".join(lines)
