"""Where a provider is and how to talk to it: address, key, patience.  Values only."""

from __future__ import annotations

from typing import Any

import msgspec

from wisp.providers.base import Api


class Secret:
    """A credential that does not show itself: not in `repr`, not in `str`, not in a traceback."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value.strip()

    def reveal(self) -> str:
        """The credential itself; for the request header only."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(set)" if self._value else "Secret(empty)"

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not written down")


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds of patience, each on its own; all are on by default."""

    connect: float = 10.0
    first_byte: float = 300.0
    """From the sent request to the head of the answer; local models read long prompts in silence."""
    idle: float = 120.0
    """Between two bytes of an answer; a server's keep-alive comments count as bytes."""
    progress: float = 600.0
    """Between two events of an answer: ends a server that only drips or only keeps alive."""


class Endpoint(msgspec.Struct, frozen=True):
    """One configured model service."""

    name: str
    """What the user calls it, for instance `local`."""
    api: Api
    base_url: str
    """What the vendor's own SDK takes: OpenAI `.../v1`; Anthropic and Gemini the host."""
    key: Any = Secret()
    """A `Secret`, or any object whose `reveal()` gives the text; falsy for none."""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request, after and instead of our own; their values are treated as credentials."""
    timeouts: Timeouts = Timeouts()
    store: bool = False
    """Whether the user allows the service to store what is said, where that saves sending it again."""
    max_retries: int = 3
    dead_after: float | None = None
    """Seconds after which an endpoint that never answered anything is given up; 90 headless."""
