"""Chapter 2: a folder of our own for one run, gone however the run ends.

Owns the folder's lifetime and what a stop signal means meanwhile.  Not promised: kill -9 leaves the folder.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from .core import ScriptMismatch


# region: disposable project
class Interrupted(BaseException):
    """The user wants out.  Not an Exception, so that no handler on the way mistakes it for a failed tool."""


class SignalGate:
    """Turns the first stop signal into one Interrupted, raised only while the gate is open.

    Python runs signal handlers between any two steps.  An exception in the middle of making or removing the
    folder would lose it, so outside the open stretch a signal is only remembered.
    """

    def __init__(self) -> None:
        self.caught = 0
        self._open = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.caught = self.caught or number
        # A signal may leave a coroutine before its first step, or a transport half made; that is no mistake.
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        sys.unraisablehook = lambda _: None
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop and self._open and asyncio.current_task() is None:
            # Between two steps an exception would tear the event loop itself: its tasks are asked to end.
            self._open = False
            for task in asyncio.all_tasks():
                loop.call_soon_threadsafe(task.cancel)
        else:
            self.open_if(self._open)

    def open_if(self, wanted: bool) -> None:
        """Open or close; opening with a signal remembered closes again and raises."""
        self._open = wanted and not self.caught
        if wanted and self.caught:
            raise Interrupted


def in_disposable_project(files: Mapping[str, str], work: Callable[[Path], int]) -> int:
    """Give work a fresh folder with these files, and remove it however work ends.

    Returns:
        What work returned; 1 when the run left its script; 128 plus the signal's number when stopped by one.
    """
    gate = SignalGate()
    root = Path(tempfile.mkdtemp(prefix="crafting-agents-")).resolve()
    try:
        # Two levels: a signal may strike after the inner block is left and before the gate is shut.
        try:
            for name, text in files.items():
                (root / name).write_bytes(text.encode())
            gate.open_if(True)
            status = work(root)
        finally:
            gate.open_if(False)
    except ScriptMismatch as mismatch:
        print(f"stopped: checkpoint_failed ({mismatch})")
        status = 1
    except (Interrupted, asyncio.CancelledError):
        # The signal may have cut a line in two.
        print("\nstopped: interrupted")
    finally:
        shutil.rmtree(root)
    return 128 + gate.caught if gate.caught else status


# endregion: disposable project
