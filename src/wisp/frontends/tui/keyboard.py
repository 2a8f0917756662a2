"""What a terminal sends, put into the forms that the parser of keys understands.  Pure: text in, text out.

Terminals say the same key in several ways; some of them the parser misreads.  And a paste is a paste: also
one that comes without its marks, whose end is lost, or that holds the mark of its end.
Escape characters in a paste are left out: the parser would take them for keys.
See the kitty keyboard protocol for `CSI key:shifted:base ; modifiers:event ; text u`, and xterm's
modifyOtherKeys for `CSI 27 ; modifiers ; key ~`.
"""

from __future__ import annotations

import re

BEGIN, END = "\x1b[200~", "\x1b[201~"
BARE = 256
"""So many characters that arrive at once with a line's end among them were not typed but pasted."""
PAUSE = 0.03
"""Seconds after which Escape alone was the key; the parts of one key come closer together."""
LOST = 1.0
"""Seconds of silence after which the end of a paste is not waited for any more."""
_LOCKS = 64 | 128
_KEY = re.compile(r"\x1b\[(\d+)(?::(\d*))?(?::(\d*))?(?:;(\d*)(?::(\d))?)?(?:;([\d:]*))?u")
_OTHER = re.compile(r"\x1b\[27;(\d+);(\d+)~")
_OPEN = re.compile(
    r"\x1b(?:\[[0-9:;]*|\]\d?[^\x07\x1b]{0,60}\x1b?|P(?:>[^\x1b]{0,80}\x1b?)?|_(?:G[^\x1b]{0,200}\x1b?)?)?$"
)
_NAME = re.compile(r"\x1bP>\|([^\x1b]*)\x1b\\")
_GRAPHICS = re.compile(r"\x1b_G[^;\x1b]*;?([^\x1b]*)\x1b\\")
_GROUND = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)[^\x07\x1b]*(?:\x07|\x1b\\)"
)
ASK_GROUND = "\x1b]11;?\x07"
"""Asks a terminal for the colour of its ground (xterm's OSC 11)."""
_LINE = re.compile(r"[\r\n]")


class Keyboard:
    """The stream of one terminal.  `feed` what came, `silence` when nothing did."""

    def __init__(self) -> None:
        self._held = ""
        self._pasting = False
        self._bare = False
        self.ground = ""
        """`light` or `dark`, once the terminal has told the colour of its ground."""
        self.name = ""
        """What the terminal calls itself (XTVERSION), once it has told."""
        self.graphics = ""
        """What it said when it was asked for pictures (kitty graphics protocol)."""

    @property
    def holds(self) -> bool:
        """Whether the beginning of a key is held back; see `release`."""
        return bool(self._held) and not self._pasting

    @property
    def bare(self) -> bool:
        """Whether a paste without marks goes on, which a pause of `PAUSE` ends; see `silence`."""
        return self._bare

    @property
    def pasting(self) -> bool:
        """Whether a paste has not ended; see `silence`."""
        return self._pasting

    def feed(self, data: str) -> str:
        """What came, as the parser should read it."""
        data = self._held + data
        self._held = ""
        if self._bare and "\x1b" not in data:
            return data  # it came in several reads
        if self._bare:
            self._bare = False
            return END + self.feed(data)
        if not self._pasting and "\x1b" not in data and len(data) >= BARE and _LINE.search(data):
            self._bare = True
            return BEGIN + data
        out: list[str] = []
        while data:
            if self._pasting:
                data = self._paste(data, out)
                continue
            typed, mark, rest = data.partition(BEGIN)
            if not mark and (cut := _OPEN.search(typed)):
                typed, self._held = typed[: cut.start()], typed[cut.start() :]
            out.append(_keys(self._answers(typed)))
            out.append(mark)
            self._pasting, data = bool(mark), rest
        return "".join(out)

    def release(self) -> str:
        """Nothing came for `PAUSE` seconds: what looks like a key's beginning is a key: Escape."""
        held, self._held = self._held, ""
        return "" if held.startswith(("\x1b]1", "\x1bP>", "\x1b_G")) else _keys(held)

    def silence(self) -> str:
        """Nothing came for `LOST` seconds: a paste ends."""
        held, self._held, self._pasting, self._bare = self._held, "", False, False
        return held.replace("\x1b", "") + END

    def _answers(self, text: str) -> str:
        """Take what the terminal answered out of what was typed."""
        if "\x1b" not in text:
            return text
        for pattern, put in ((_NAME, "name"), (_GRAPHICS, "graphics")):
            if found := pattern.search(text):
                setattr(self, put, found[1] or "-")
                text = pattern.sub("", text)
        return _GROUND.sub(self._told, text)

    def _told(self, match: re.Match[str]) -> str:
        """The terminal told its ground: light where it is lighter than middle grey (ITU-R BT.601)."""
        red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
        self.ground = "light" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "dark"
        return ""

    def _paste(self, data: str, out: list[str]) -> str:
        """Take a paste's text; what follows it."""
        end = self._end(data)
        if end < 0:
            keep = next((n for n in range(len(END) - 1, 0, -1) if data.endswith(END[:n])), 0)
            out.append(data[: len(data) - keep].replace("\x1b", ""))
            self._held = data[len(data) - keep :]
            return ""
        out += [data[:end].replace(END, "").replace("\x1b", ""), END]
        self._pasting = False
        return data[end + len(END) :]

    @staticmethod
    def _end(data: str) -> int:
        """Where the paste ends: at the last mark before another paste begins."""
        begin = data.find(BEGIN)
        return data.rfind(END, 0, begin) if begin >= 0 else data.rfind(END)


def _keys(text: str) -> str:
    """Typed text with every key in one form."""
    if "\x1b" not in text:
        return text
    text = text.replace("\x1b\r", "\x1b[13;3u")
    return _KEY.sub(_key, _OTHER.sub(lambda m: f"\x1b[{m[2]};{m[1]}u", text))


def _key(match: re.Match[str]) -> str:
    """One key: released ones are nothing, lock keys do not count, shortcuts are those of the base layout."""
    code, _, base, modifiers, event, text = match.groups()
    if event == "3":
        return ""
    bits = (int(modifiers or "1") - 1) & ~_LOCKS
    if base and bits & ~1:
        code = base
    if text and bits & ~1:
        text = ""  # a shortcut writes nothing
    if not bits and not text and 32 < int(code) < 57344 and int(code) != 127:
        return chr(int(code))  # only a lock key was said with it
    return f"\x1b[{code};{bits + 1}{';' + text if text else ''}u"
