"""`wisp sessions export` and `import`: conversations to and from the formats of other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from wisp.frontends.cli.exitcodes import OK
from wisp.frontends.cli.streams import put
from wisp.frontends.cli.terminal import is_terminal
from wisp.host.showing import safe

if TYPE_CHECKING:
    from wisp.host.exchanging import Arrived, Exported

ENDINGS = {".md": "markdown", ".html": "html", ".htm": "html", ".json": "atif", ".jsonl": "claude"}
"""What a file's ending says of its format."""


def export(prefix: str, given: Mapping[str, Any], make: Callable[..., Exported]) -> int:
    """Write a session in another format; what was taken out is told on standard error.

    A file is made new: one that is there stays as it is, and is named.
    """
    output = str(given["output"])
    form = str(given["format"]) or ENDINGS.get(os.path.splitext(output)[1].lower(), "markdown")
    made = make(prefix, form, scrub=not given["keep_secrets"])
    if output:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(made.data)
        print(safe(f"{output}: {len(made.data):,} bytes of {form}"))
    else:
        text = made.data.decode()
        put(safe(text) if is_terminal(sys.stdout) else text)
    if made.scrubbed:
        kinds = ", ".join(f"{count} {kind}" for kind, count in made.scrubbed.items())
        print(safe(f"wisp: credentials were taken out: {kinds}"), file=sys.stderr)
    return OK


def bring_in(made: Arrived) -> int:
    """Tell what came of a file, and what did not."""
    print(safe(f"{made.id}: {made.messages} messages of {made.source}"))
    print(f"wisp --resume {made.id} goes on with it")
    if made.lost:
        rows = ", ".join(f"{count} {what}" for what, count in sorted(made.lost.items()))
        print(safe(f"converted, lossy: {sum(made.lost.values())} items: {rows}"))
    return OK
