"""What the environment says of the terminal that a person sits at.  Looks, changes nothing."""

from __future__ import annotations

from wisp.host.paths import environment


def kind() -> str:
    """The name that the terminal goes by (`TERM`); `dumb` where it has none."""
    return environment().get("TERM") or "dumb"
