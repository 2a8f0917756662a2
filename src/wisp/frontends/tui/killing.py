"""What killing keys removed, to be put back: the kill ring, as readline and Emacs have it.  Pure."""

from __future__ import annotations

MOST = 60


class KillRing:
    """What was removed, newest last; kills that follow each other directly are one."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._at = 0
        self._open = False

    def note(self, earlier: str, now: str, *, forward: bool) -> None:
        """A killing key made `now` of `earlier`.

        Args:
            forward: it removed what follows the cursor.
        """
        if len(now) >= len(earlier):
            return
        pairs = enumerate(zip(earlier, now, strict=False))
        start = next((at for at, (a, b) in pairs if a != b), len(now))
        gone = earlier[start : start + len(earlier) - len(now)]
        if self._open and self._kept:
            self._kept[-1] = self._kept[-1] + gone if forward else gone + self._kept[-1]
        else:
            self._kept = [*self._kept, gone][-MOST:]
        self._at, self._open = len(self._kept) - 1, True

    def close(self) -> None:
        """Another key was pressed: the next kill stands for itself."""
        self._open = False

    @property
    def newest(self) -> str:
        """What was removed last."""
        self._at = len(self._kept) - 1
        return self._kept[-1] if self._kept else ""

    def before(self) -> str:
        """What was removed before what was put back last; after the oldest comes the newest."""
        if not self._kept:
            return ""
        self._at = (self._at - 1) % len(self._kept)
        return self._kept[self._at]
