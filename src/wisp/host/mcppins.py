"""What MCP servers said of their tools when they were last used, as digests: so that a change is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import msgspec

from wisp.session.whole import replace_private

MOST_BYTES = 4 << 20
MOST_SERVERS = 200


class Pins:
    """The digests of one server's tools, in a private file beside those of others.

    Args:
        server: what it is, in one text: another command or address is another server.
    """

    def __init__(self, path: str, server: str) -> None:
        self._path, self._server = path, server

    def exchange(self, now: Mapping[str, str]) -> Mapping[str, str]:
        """Keep these digests, by the tools' names; what was kept before.  A full disk costs a notice."""
        found = self._all()
        before = found.pop(self._server, {})
        if before == {**before, **now}:
            return before
        kept = dict([*found.items(), (self._server, {**before, **now})][-MOST_SERVERS:])
        with suppress(OSError):
            replace_private(self._path, msgspec.json.encode(kept))
        return before

    def _all(self) -> dict[str, dict[str, str]]:
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(MOST_BYTES), type=dict[str, dict[str, str]])
        except (OSError, msgspec.MsgspecError):
            return {}
