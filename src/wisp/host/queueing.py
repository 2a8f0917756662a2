"""What waits to be said, changed as a person wants it."""

from __future__ import annotations

from wisp.harness.events import QueuedMessage, QueueUpdated
from wisp.harness.mailbox import QueueChanged, QueueFull
from wisp.harness.runner import AgentHarness
from wisp.host.client import CommandRefused
from wisp.host.commands import QueueClear, QueueCommand, QueueEdit, QueuePop


def changed_queue(harness: AgentHarness, command: QueueCommand) -> QueueUpdated:
    """Do what `command` says to what waits, and say how it stands then.

    Raises:
    CommandRefused: nothing waits there, or it is not as the command believes.
    """
    queues = harness.queues
    removed: tuple[QueuedMessage, ...] = ()
    try:
        queues.expect(command.revision)
        if isinstance(command, QueueEdit):
            queues.edit(command.id, harness.toolbox.masker.mask_plain(command.text))
        elif isinstance(command, QueuePop):
            taken = queues.take_back(command.id)
            if taken is None:
                raise CommandRefused("nothing waits")
            removed = (taken,)
        elif isinstance(command, QueueClear):
            removed = queues.clear()
        else:
            queues.set_mode(command.queue, command.mode)
    except (QueueChanged, QueueFull) as exc:
        raise CommandRefused(str(exc)) from None
    return queues.state(removed)
