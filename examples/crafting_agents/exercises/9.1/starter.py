"""Exercise 9.1: a view of what is waiting."""

from dataclasses import dataclass

from examples.crafting_agents.host import Event


@dataclass(frozen=True)
class Waiting:
    """The messages that are queued, by ticket, in order."""

    tickets: tuple[tuple[int, str], ...] = ()


def apply(view: Waiting, event: Event) -> Waiting:
    """Kinds: "queued" {ticket, text}, "taken_back" {ticket}, "delivered" {ticket}.  Others change nothing."""
    raise NotImplementedError
