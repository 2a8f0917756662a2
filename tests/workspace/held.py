"""When the last process that holds a pipe has ended, told by the system in the moment it happens.

Looking through the processes again and again would measure the looking.
"""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

HOLD = "exec 9>held; "
"""Put before a shell line that is started in the pipe's folder: it, and all that it starts, hold the pipe."""


class Held:
    """A named pipe `held` in a folder, to be held by processes started there."""

    def __init__(self, folder: Path) -> None:
        os.mkfifo(folder / "held")
        (folder / "held").chmod(0o666)
        self._read = os.open(folder / "held", os.O_RDONLY | os.O_NONBLOCK)

    def end(self, most: float = 20) -> float:
        """Wait for the end of all that hold it, up to `most` seconds; the monotonic time of it."""
        poll = select.poll()
        poll.register(self._read, 0)
        assert poll.poll(most * 1000), "somebody still holds it"
        at = time.monotonic()
        os.close(self._read)
        return at
