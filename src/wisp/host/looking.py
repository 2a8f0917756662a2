"""What a run would begin with, without making one: for `wisp context`, and for those who state a policy."""

from __future__ import annotations

from collections.abc import Sequence

from wisp.host.build import Overrides, open_host
from wisp.host.client import OpenFailed, OpenRequest
from wisp.host.configure import configure, rules_of
from wisp.host.events import ContextEstimated
from wisp.host.paths import environment
from wisp.messages.ids import SystemClock
from wisp.session.catalog import latest, resolve
from wisp.session.fold import Fold
from wisp.session.open import seen
from wisp.session.records import Record
from wisp.session.state import State
from wisp.session.storage import Loaded, MemoryStorage, Storage


class Stored:
    """A stored session that is only looked at, even while it is in use.  Implements `Storage`."""

    where = ""

    def __init__(self, path: str) -> None:
        found = seen(path)
        self._loaded = Loaded((), found.damage, 0, found.state)

    def load(self) -> Loaded:
        """What the session adds up to."""
        return self._loaded

    def folded(self) -> Fold:
        """The same."""
        return Fold(state=self._loaded.state)

    def append(self, records: Sequence[Record], *, sync: bool) -> None:
        """Nothing is added: no run is made."""

    def remember(self, state: State) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing to let go of."""


async def context_of(request: OpenRequest, prefix: str) -> ContextEstimated:
    """What takes the space in this folder's newest session, or in the one that `prefix` names.

    Raises:
        OpenFailed: no model is configured, or there is no such session.
    """
    configured = configure(request, environment(), SystemClock())
    base = configured.session_base
    try:
        path = resolve(base, prefix) if prefix else latest(base, configured.cwd)
        storage: Storage = Stored(path) if path else MemoryStorage()
    except (LookupError, OSError) as exc:
        said = exc.args[0] if isinstance(exc, LookupError) else exc
        raise OpenFailed(str(said), 1) from None
    host = await open_host(request, Overrides(storage=storage))
    try:
        return host.context()
    finally:
        await host.close()


def policy_of(request: OpenRequest) -> tuple[str, str]:
    """The folder that a run with `request` works in, and its permission mode.

    Raises:
        OpenFailed: it cannot be begun: there is no such folder, or a setting or rule is none.
    """
    configured = configure(request, environment(), SystemClock())
    rules_of(configured)
    return configured.cwd, "auto" if request.yes else configured.settings.permission_mode
