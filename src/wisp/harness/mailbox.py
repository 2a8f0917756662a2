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
MAX_BYTES = 1 << 20
"""Most bytes of both queues together."""

QueueMode = Literal["one_at_a_time", "all"]
QueueName = Literal["steering", "follow_up"]


class QueueFull(Exception):
    """No room; the message was not taken."""


class QueueChanged(Exception):
    """The queue is not as the caller believes: another revision, or no such message; nothing was changed."""


class Queues:
    """The two queues of one conversation; implements the loop's `Mailbox`."""

    def __init__(self, clock: Clock, mode: QueueMode = "all") -> None:
        self._clock = clock
        self._modes: dict[QueueName, QueueMode] = {"steering": mode, "follow_up": mode}
        self._queues: dict[QueueName, deque[QueuedMessage]] = {"steering": deque(), "follow_up": deque()}
        self.revision = 0

    def steer(self, text: str) -> QueuedMessage:
        """Queue `text` for the next request boundary.

        Raises:
            QueueFull: `MAX_WAITING` messages, or `MAX_BYTES` bytes, wait already.
        """
        return self._put("steering", text)

    def follow_up(self, text: str) -> QueuedMessage:
        """Queue `text` for when the run would stop.

        Raises:
            QueueFull: as for `steer`.
        """
        return self._put("follow_up", text)

    def take_back(self, message_id: str = "") -> QueuedMessage | None:
        """Remove and return a waiting message: that one, or the newest, follow-ups first.

        Raises:
            QueueChanged: no message of that id waits.
        """
        for queue in (self._queues["follow_up"], self._queues["steering"]):
            for message in reversed(queue):
                if message_id in ("", message.id):
                    queue.remove(message)
                    self.revision += 1
                    return message
        if message_id:
            raise QueueChanged(f"no message {message_id!r} waits any more")
        return None

    def edit(self, message_id: str, text: str) -> QueuedMessage:
        """Give a waiting message other words; its place stays.

        Raises:
            QueueChanged: no message of that id waits.
            QueueFull: the new words find no room.
        """
        for queue in self._queues.values():
            for place, message in enumerate(queue):
                if message.id == message_id:
                    made = QueuedMessage(message_id, clean(text))
                    self._room(_size(made.text) - _size(message.text))
                    queue[place] = made
                    self.revision += 1
                    return made
        raise QueueChanged(f"no message {message_id!r} waits any more")

    def clear(self) -> tuple[QueuedMessage, ...]:
        """Forget everything that waits; returns it, oldest first, steering first."""
        removed = (*self._queues["steering"], *self._queues["follow_up"])
        for queue in self._queues.values():
            queue.clear()
        self.revision += bool(removed)
        return removed

    def set_mode(self, queue: QueueName, mode: QueueMode) -> None:
        """How many of a queue's messages are delivered at one boundary."""
        self.revision += self._modes[queue] != mode
        self._modes[queue] = mode

    def expect(self, revision: int | None) -> None:
        """Make sure that the queue is as the caller saw it; None does not care.

        Raises:
            QueueChanged: it is not.
        """
        if revision is not None and revision != self.revision:
            raise QueueChanged("the queue has changed meanwhile; look at it again")

    def state(self, removed: tuple[QueuedMessage, ...] = ()) -> QueueUpdated:
        """What waits now."""
        steering, follow_up = self._queues["steering"], self._queues["follow_up"]
        modes = self._modes
        return QueueUpdated(
            tuple(steering), tuple(follow_up), modes["steering"], modes["follow_up"], self.revision, removed
        )

    def collect(self, *, would_stop: bool) -> Sequence[QueueMessageInjected]:
        """Take what may be delivered at this boundary: steering first; follow-ups only when it would stop."""
        if self._queues["steering"]:
            return self._take("steering", "steer")
        if would_stop and self._queues["follow_up"]:
            return self._take("follow_up", "follow_up")
        return ()

    def _put(self, name: QueueName, text: str) -> QueuedMessage:
        queue = self._queues[name]
        message = QueuedMessage(self._clock.new_id(), clean(text))
        if len(queue) >= MAX_WAITING:
            raise QueueFull(f"{MAX_WAITING} messages wait already; take one back first")
        self._room(_size(message.text))
        queue.append(message)
        self.revision += 1
        return message

    def _room(self, more: int) -> None:
        waiting = sum(_size(message.text) for queue in self._queues.values() for message in queue)
        if waiting + more > MAX_BYTES:
            raise QueueFull(f"waiting messages may have {MAX_BYTES:,} bytes; put a long one in a file")

    def _take(self, name: QueueName, kind: Literal["steer", "follow_up"]) -> list[QueueMessageInjected]:
        queue = self._queues[name]
        count = 1 if self._modes[name] == "one_at_a_time" else len(queue)
        taken = [queue.popleft() for _ in range(count)]
        self.revision += 1
        return [QueueMessageInjected(kind, UserMessage((Text(m.text),), m.id)) for m in taken]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
