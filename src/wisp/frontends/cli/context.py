"""`wisp context` and `/context`: what takes the space of the next request."""

from __future__ import annotations

from collections.abc import Callable

from wisp.frontends.cli.exitcodes import OK
from wisp.frontends.cli.invocation import Invocation
from wisp.frontends.cli.print import write_json
from wisp.frontends.cli.streams import complain, say
from wisp.host.client import OpenFailed
from wisp.host.events import ContextEstimated
from wisp.host.figures import context_table
from wisp.host.showing import safe


def run_context(invocation: Invocation, examine: Callable[[str], ContextEstimated]) -> int:
    """Print it for this folder's newest session, or for the one that is named."""
    try:
        found = examine(invocation.resume)
    except OpenFailed as exc:
        complain(safe(f"wisp: {exc!s}"))
        return exc.exit_code
    if invocation.json:
        import msgspec

        write_json(msgspec.to_builtins(found))
    else:
        say(safe(context_table(found)))
    return OK
