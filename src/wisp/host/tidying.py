"""Once a day, at the end of a conversation: what was kept for long enough goes.

Outputs of commands that no stored session refers to, after `OUTPUT_DAYS`, or the oldest beyond
`OUTPUT_BYTES`; sessions that were not used for as long as the setting `session_days` says, to the trash.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from wisp.host.client import OpenFailed
from wisp.host.configure import Configured
from wisp.host.store import SessionStore
from wisp.messages.ids import Clock
from wisp.session.references import referred
from wisp.workspace.outputs import Kept, prune

OUTPUT_DAYS = 30
OUTPUT_BYTES = 4 << 30
"""Of all kept outputs together."""


def tidy(configured: Configured, clock: Clock) -> None:
    """One round; blocking, never fails.  What cannot be moved, or is in use, stays for another day."""
    days = configured.settings.session_days
    if days is not None:
        with contextlib.suppress(OSError, OpenFailed, LookupError):
            SessionStore(configured.session_base, clock).prune(days, do_it=True)
    with contextlib.suppress(OSError):
        prune_outputs(configured, clock.now())


def prune_outputs(
    configured: Configured, now: float, days: float = OUTPUT_DAYS, most: int = OUTPUT_BYTES
) -> Kept:
    """Delete outputs that no stored session refers to: older than `days`, or the oldest beyond `most` bytes.

    Raises:
        OSError: the folder, or a session, cannot be read; nothing went.
    """

    def held(names: Collection[str]) -> set[str]:
        return referred(configured.session_base, names)

    return prune(configured.output, now, days, most, held)
