"""Whether a request continues the one before it, and if not, why: a prompt cache only keeps what does.

Pure bookkeeping of one conversation with one service.  Knows no wire format; that an unbroken request does
begin with the bytes of the one before is the builders' promise.  Continuing a response that the service
stored is another thing, and not known here.
"""

from __future__ import annotations

from typing import Any

from wisp.providers.base import ModelRequest


class CacheWatch:
    """Compares each request with the last."""

    def __init__(self) -> None:
        self._before: dict[str, Any] | None = None

    def breaks(self, request: ModelRequest, *, rewritten: bool) -> tuple[str, ...]:
        """Why the provider's cache cannot be used: `model`, `system`, `tools`, `settings` or `history`;
        empty where it can be, and for the first request."""
        now = {
            "model": request.model,
            "system": request.system,
            "tools": request.tools,
            "settings": (request.effort, request.max_output, request.output_schema, request.session_id),
        }
        before, self._before = self._before, now
        if before is None:
            return ()
        found = [name for name, value in now.items() if value is not before[name] and value != before[name]]
        return (*found, "history") if rewritten else tuple(found)
