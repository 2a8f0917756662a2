"""The terminal of a screen below the shell's prompt: read as `driver` reads the full one."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.drivers.linux_inline_driver import LinuxInlineDriver
from textual.message import Message

from wisp.frontends.tui.driver import QUIET, Reader, waiting
from wisp.frontends.tui.echo import Echo
from wisp.frontends.tui.keyboard import ASK_GROUND


class InlineDriver(LinuxInlineDriver):
    """Textual's driver for it, which has to know where it stands, with another way of reading."""

    def __init__(self, *args: Any, echo: Echo, **more: Any) -> None:
        super().__init__(*args, **more)
        self._reader = Reader(echo)

    def start_application_mode(self) -> None:
        """Begin; see `ScreenDriver.start_application_mode`."""
        assert self._file is not None
        self._file.write(QUIET + "\x1b[?2004l")
        self._file.flush()
        self._reader.ahead = waiting(self.fileno)
        super().start_application_mode()
        self.write("\x1b[=5;1u" + ASK_GROUND)
        self.flush()  # type: ignore[no-untyped-call]

    def stop_application_mode(self) -> None:
        """End; see `ScreenDriver.stop_application_mode`."""
        self.write(QUIET)
        self.flush()  # type: ignore[no-untyped-call]
        super().stop_application_mode()

    def disable_input(self) -> None:
        """Stop reading, and drop what is under way."""
        super().disable_input()
        self._reader.drain(self)

    def run_input_thread(self) -> None:
        """Read until the screen closes.  Runs in the driver's thread."""
        self._reader.run(self, self._deliver)

    def _deliver(self, message: Message) -> None:
        if isinstance(message, events.CursorPosition):
            self.cursor_origin = (message.x, message.y)
        else:
            self.process_message(message)
