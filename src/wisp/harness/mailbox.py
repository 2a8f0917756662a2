"""Messages that wait for a request boundary: steering (as soon as possible), follow-ups (when it would stop).

First in, first out, bounded, one at a time or all.  Survives cancelling: what was not delivered waits on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

from wisp.harness.events import QueuedMessage, QueueUpdated
from wisp.loop.events import QueueMessageInjected
from wisp.messages.codec import clean
from wisp.messages.content import Text
from wisp.messages.ids import Clock
from wisp.messages.message import UserMessage

MAX_WAITING = 100
"""Most messages in each queue."""

QueueMode = Literal["one_at_a_time", "all"]


class QueueFull(Exception):
    """No room; the message was not taken."""


class Queues:
    """The two queues of one conversation; implements the loop's `Mailbox`."""

    def __init__(self, clock: Clock, mode: QueueMode = "all") -> None:
        self._clock = clock
        self._mode = mode
        self._steering: deque[QueuedMessage] = deque()
        self._follow_up: deque[QueuedMessage] = deque()

    def steer(self, text: str) -> QueuedMessage:
        """Queue `text` for the next request boundary.

        Raises:
            QueueFull: `MAX_WAITING` messages wait already.
        """
        return self._put(self._steering, text)

    def follow_up(self, text: str) -> QueuedMessage:
        """Queue `text` for when the run would stop.

        Raises:
            QueueFull: `MAX_WAITING` messages wait already.
        """
        return self._put(self._follow_up, text)

    def take_back(self) -> QueuedMessage | None:
        """Remove and return the newest waiting message, follow-ups first."""
        for queue in (self._follow_up, self._steering):
            if queue:
                return queue.pop()
        return None

    def clear(self) -> None:
        """Forget everything that waits."""
        self._steering.clear()
        self._follow_up.clear()

    def state(self) -> QueueUpdated:
        """What waits now."""
        return QueueUpdated(tuple(self._steering), tuple(self._follow_up))

    def collect(self, *, would_stop: bool) -> Sequence[QueueMessageInjected]:
        """Take what may be delivered at this boundary: steering first; follow-ups only when it would stop."""
        if self._steering:
            return self._take(self._steering, "steer")
        if would_stop and self._follow_up:
            return self._take(self._follow_up, "follow_up")
        return ()

    def _put(self, queue: deque[QueuedMessage], text: str) -> QueuedMessage:
        if len(queue) >= MAX_WAITING:
            raise QueueFull(f"{MAX_WAITING} messages wait already; take one back first")
        message = QueuedMessage(self._clock.new_id(), clean(text))
        queue.append(message)
        return message

    def _take(
        self, queue: deque[QueuedMessage], kind: Literal["steer", "follow_up"]
    ) -> list[QueueMessageInjected]:
        count = 1 if self._mode == "one_at_a_time" else len(queue)
        taken = [queue.popleft() for _ in range(count)]
        return [QueueMessageInjected(kind, UserMessage((Text(m.text),), m.id)) for m in taken]
