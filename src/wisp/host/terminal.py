"""What the environment says of the terminal that a person sits at.  Looks, changes nothing."""

from __future__ import annotations

from wisp.host.paths import environment


def ground() -> str:
    """`light` or `dark` where the environment tells the terminal's ground (`COLORFGBG`, as rxvt and Konsole
    set it); nothing where it does not."""
    last = environment().get("COLORFGBG", "").rpartition(";")[2]
    return "" if not last.isdecimal() else "light" if last in ("7", "15") else "dark"


def kind() -> str:
    """The name that the terminal goes by (`TERM`); `dumb` where it has none."""
    return environment().get("TERM") or "dumb"
