"""What a tool is: described once, prepared per call without effects, then run.

    Tool.prepare(arguments)  ->  Prepared  ->  (policy, approval)  ->  Prepared.run(context)  ->  ToolOutcome

Preparing decodes the arguments, looks at the world and says exactly what would happen, so that a
person can be shown the whole operation and their answer can be bound to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from wisp.messages.codec import ascii_json
from wisp.messages.tool import Effect, Replay, ToolOutcome, ToolSpec
from wisp.workspace.stop import StopToken


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a running call is given."""

    stop: StopToken
    """Blocking work must poll it at least every 100 ms and settle within 500 ms of it being set."""
    progress: Callable[[str], None]
    """Takes a piece of live output; may be called from any thread, never blocks, never raises."""
    ask: Callable[[str, tuple[str, ...]], Awaitable[str]] | None = None
    """Asks a person a question with options (or none) and waits; None where nobody is there."""
    call_id: str = ""
    """Of the call that runs."""


Run = Callable[[RunContext], ToolOutcome] | Callable[[RunContext], Awaitable[ToolOutcome]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """One call, ready to run, with everything a decision needs."""

    tool: str
    arguments: dict[str, Any]
    """As they will be used: decoded, misspellings mapped, defaults filled in."""
    effects: tuple[Effect, ...]
    """Everything it would do.  A call with read effects only is never asked about inside the workspace."""
    run: Run
    """Does it.  A plain function runs in a worker thread, a coroutine function on the event loop.  Raises
    `ToolFailure` for expected failures; anything else is a bug and propagates."""
    summary: str = ""
    """One line for lists and cards, for instance `edit src/app.py (+1 -1)`."""
    preview: str = ""
    """What a person is shown before they approve, whole: a unified diff, a command."""
    fingerprint: str = ""
    """Digest of the state of the world this was prepared against (a target file's bytes); empty if none."""
    resources: tuple[str, ...] = field(default=())
    """Canonical names of what it touches; two calls that share one never run at the same time."""
    parts: int = 0
    """How many hunks of the diff in `preview` can be done without the others; 0 where none can."""
    only: Callable[[frozenset[int]], Prepared] | None = None
    """The same call with only these of its parts, of which there is at least one.  Raises `ToolFailure`."""

    def digest(self) -> str:
        """The identity of this exact operation: tool, arguments, effects and fingerprint."""
        import hashlib  # 2 ms that a run without calls does not pay

        whole = ascii_json([self.tool, self.arguments, self.effects, self.fingerprint])
        return hashlib.sha256(whole).hexdigest()


class Tool(Protocol):
    """One named thing the model can ask for."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""
        ...

    @property
    def parallel_safe(self) -> bool:
        """Whether calls may run beside other parallel-safe calls; only true of tools without effects."""
        ...

    @property
    def replay(self) -> Replay:
        """Whether a call with unknown outcome may be run again after a crash."""
        ...

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say exactly what this call would do.  Blocking, without effects, runs in a worker thread.

        Raises:
            ToolFailure: the arguments are wrong or the operation cannot succeed; nothing happened.
        """
        ...
