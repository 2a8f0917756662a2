"""The `[screen]` table of the settings: how the screen looks and behaves."""

from __future__ import annotations

from typing import Literal

import msgspec

StatusPart = Literal["model", "folder", "context", "cost", "session"]


class ScreenSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the screen looks and behaves."""

    theme: Literal["auto", "dark", "light", "grey"] = "auto"
    """`auto` follows the ground of the terminal, where that tells."""
    motion: bool = True
    """Whether anything on the screen moves by itself."""
    reader: bool = False
    """Whether a screen reader is used: no borders, nothing that is drawn again without news."""
    status: tuple[StatusPart, ...] = ("model", "folder", "context", "cost")
    """What the last line tells, in order; the permission mode and the sandbox always stand at its end."""
    keys: dict[str, str | tuple[str, ...]] = {}
    """Keys of actions besides their own, by the names that the guide lists."""
