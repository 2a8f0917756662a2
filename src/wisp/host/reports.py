"""Short texts about a conversation: what it used, what was said."""

from __future__ import annotations

from wisp.host.service import SessionHost
from wisp.host.snapshot import Snapshot
from wisp.host.store import tree_of
from wisp.loop.limits import Limits
from wisp.messages.message import UserMessage
from wisp.messages.usage import Usage

MOST_SAID = 50


def cost_text(host: SessionHost) -> str:
    """What the session used, and what is left where there are limits."""
    state = host.session.state
    rows = [f"this session: {state.turns} requests, {_usage(state.usage)}, {_money(state.cost_usd)}"]
    for account in host.harness.ledger.accounts:
        if account.limits == Limits():
            continue
        spent = account.book.read()
        limits = account.limits
        named = {
            "turns": (spent.turns, limits.max_turns),
            "USD": (spent.cost, limits.max_cost),
            "tokens": (_tokens(spent.usage), limits.max_tokens),
            "seconds": (round(spent.seconds), limits.max_time),
        }
        parts = [
            f"{'?' if used is None else f'{used:g}'} of {most:g} {unit}"
            for unit, (used, most) in named.items()
            if most is not None
        ]
        rows.append(f"{account.whose.removeprefix('of ')}: {', '.join(parts)}")
    return "\n".join(rows)


def history_text(host: SessionHost) -> str:
    """What the person said, newest last."""
    said = [m.text for m in host.session.state.messages if isinstance(m, UserMessage)]
    rows = [f"{n}. {' '.join(text.split())[:200]}" for n, text in enumerate(said, 1)]
    return "\n".join(rows[-MOST_SAID:]) or "nothing yet"


def tree_text(path: str) -> str:
    """A line a message; `*` where the conversation stands, `|` on the way there."""
    rows = []
    for entry in tree_of(path):
        mark = "*" if entry.leaf else "|" if entry.current else " "
        label = f"  [{' '.join(entry.label.split())}]" if entry.label else ""
        text = " ".join(entry.text.split())[:80]
        rows.append(f"{'    ' * entry.depth}{mark} {entry.number} {entry.kind}: {text}{label}")
    return "\n".join(rows)


def _usage(usage: Usage) -> str:
    prompt, output = usage.prompt_tokens, usage.output_tokens
    if prompt is None or output is None:
        return "an unknown number of tokens"
    return f"{prompt:,} tokens in, {output:,} out"


def _money(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"${cost:.4f}"


def _tokens(usage: Usage) -> int | None:
    prompt, output = usage.prompt_tokens, usage.output_tokens
    return None if prompt is None or output is None else prompt + output


def servers_text(snapshot: Snapshot) -> str:
    """The MCP servers as they are, and the tools they offer."""
    if not snapshot.mcp_servers:
        return "no MCP servers are configured; 'wisp mcp add NAME -- COMMAND' adds one"
    rows = []
    for server in snapshot.mcp_servers:
        rows.append(f"{server.name}: {server.status}, {server.tools} tools ({server.origin})")
        rows += [f"  {server.error}"] if server.error else []
    offered = [name for name in snapshot.tools if name.startswith("mcp__")]
    return "\n".join([*rows, *(["offered: " + ", ".join(offered)] if offered else [])])
