"""`wisp sessions export` and `import`: conversations to and from the formats of other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from wisp.frontends.cli.exitcodes import OK
from wisp.frontends.cli.streams import complain, hand_over, put, say
from wisp.frontends.cli.terminal import is_terminal
from wisp.host.showing import named, safe

if TYPE_CHECKING:
    from wisp.host.exchanging import Arrived, Exported


def export(prefix: str, given: Mapping[str, Any], make: Callable[..., Exported]) -> int:
    """Write a session in another format; what was taken out is told on standard error.

    A file is made new: one that is there stays as it is, and is named.
    """
    output = str(given["output"])
    from wisp.host.exchanging import form_of, write_new

    form = str(given["format"]) or form_of(output)
    made = make(prefix, form, scrub=not given["keep_secrets"])
    if output:
        write_new(output, made)
        say(safe(f"{named(output)}: {len(made.data):,} bytes of {form}"))
    else:
        text = made.data.decode()
        if is_terminal(sys.stdout):
            put(safe(text))
        else:
            hand_over(text)
    if made.scrubbed:
        kinds = ", ".join(f"{count} {kind}" for kind, count in made.scrubbed.items())
        complain(safe(f"wisp: credentials were taken out: {kinds}"))
    return OK


def bring_in(made: Arrived) -> int:
    """Tell what came of a file, and what did not."""
    say(safe(f"{named(made.id)}: {made.messages} messages of {made.source}"))
    say(safe(f"wisp --resume {named(made.id)} goes on with it"))
    if made.lost:
        rows = ", ".join(f"{count} {what}" for what, count in sorted(made.lost.items()))
        say(safe(f"converted, lossy: {sum(made.lost.values())} items: {rows}"))
    return OK
