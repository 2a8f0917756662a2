"""The terminal of the full screen: reads keys through `keyboard`, asks for their places too."""

from __future__ import annotations

import codecs
import os
import select

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from wisp.frontends.tui.keyboard import LOST, PAUSE, Keyboard

TICK = 0.1
"""Seconds after which the parser is told that nothing came."""
READ = 65_536
"""Bytes taken from the terminal at once."""


class ScreenDriver(LinuxDriver):
    """Textual's driver with another way of reading."""

    def start_application_mode(self) -> None:
        """Begin; keys of other layouts are told with their place on the keyboard, where a terminal can."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.write("\x1b[=5;1u")
        self.flush()

    def run_input_thread(self) -> None:
        """Read until the screen closes.  Runs in the driver's thread."""
        parser, keyboard = XTermParser(self._debug), Keyboard()
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        quiet = 0.0
        while not self.exit_event.is_set():
            wait = PAUSE if keyboard.holds else TICK
            ready, _, _ = select.select([self.fileno], [], [], wait)
            quiet = 0.0 if ready else quiet + wait
            if ready:
                data = os.read(self.fileno, READ)
                if not data:
                    break
                self._pass(parser, keyboard.feed(decode(data)))
            elif keyboard.holds:
                self._pass(parser, keyboard.release())
            elif keyboard.pasting and quiet >= LOST:
                self._pass(parser, keyboard.silence())
            for message in parser.tick():
                self.process_message(message)

    def _pass(self, parser: XTermParser, text: str) -> None:
        if text:
            for message in parser.feed(text):
                self.process_message(message)
