"""In which order the calls of one message run.  Pure.

Sequential, in call order, unless every call is parallel-safe and none changes what another one touches.
The order is what keeps an edit before the test that depends on it; a batch promises nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from wisp.messages.tool import ToolOutcome

MAX_PARALLEL = 8
"""Most calls at once."""


class Schedulable(Protocol):
    """What the order depends on; see `loop.ports.ReadyCall`."""

    @property
    def failure(self) -> ToolOutcome | None: ...
    @property
    def parallel_safe(self) -> bool: ...
    @property
    def effectful(self) -> bool: ...
    @property
    def resources(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=Schedulable)


def groups(ready: Sequence[T]) -> list[list[T]]:
    """Split `ready` into groups, each run at once, one after another."""
    runnable = [call for call in ready if call.failure is None]
    if len(runnable) < 2 or not _independent(runnable):
        return [[call] for call in ready]
    return [list(ready[start : start + MAX_PARALLEL]) for start in range(0, len(ready), MAX_PARALLEL)]


def _independent(calls: Sequence[Schedulable]) -> bool:
    if not all(call.parallel_safe for call in calls):
        return False
    touched = [name for call in calls for name in set(call.resources)]
    changed = {name for call in calls if call.effectful for name in call.resources}
    return all(touched.count(name) == 1 for name in changed)
