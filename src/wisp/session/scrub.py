"""Taking credentials out of stored records: known values in all their disguises, and what has a key's shape.

Pure: lines in, lines out.  A line in which nothing was found stays byte for byte; another is written again
with the same place, ids and a checksum of its own.  Knows nothing of files and locks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from wisp.harness.masking import SHORTEST, disguises
from wisp.session.codec import BadLine, decode, salvage, seal, unsealed

_BOM = b"\xef\xbb\xbf"
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{4}))"
"""Where a key may begin: not inside a word, but right after an escape of JSON text inside JSON text."""
SHAPES: tuple[tuple[str, str], ...] = (
    ("pem", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\Z)"),
    ("sk", _EDGE + r"sk-[A-Za-z0-9_-]{16,}"),
    ("github", _EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("aws", _EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("slack", _EDGE + r"xox[a-z]-[A-Za-z0-9-]{10,}"),
    ("google", _EDGE + r"AIza[A-Za-z0-9_-]{35}"),
    ("jwt", _EDGE + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
)
"""Kinds and patterns of keys that are told by their looks."""
_KEPT = frozenset({"v", "seq", "id", "parent", "at", "type", "call_id", "result_id", "session_id", "tree"})
"""What holds a session together is never touched."""


class Scrubber:
    """Replaces every credential it knows or recognises by `[scrubbed:KIND]`.

    Args:
        known: names, which become kinds, to values.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known: dict[str, str] = {}
        for name, value in known.items():
            for form in disguises(value) if len(value) >= SHORTEST else ():
                self._known.setdefault(form, re.sub(r"[^A-Za-z0-9_.-]", "_", name))
        words = "|".join(map(re.escape, sorted(self._known, key=len, reverse=True)))
        self._values = re.compile(words) if words else None
        self._shapes = [(kind, re.compile(pattern, re.DOTALL)) for kind, pattern in SHAPES]

    def text(self, text: str, found: Counter[str]) -> str:
        """`text` without credentials; how many of which kind is added to `found`."""

        def by(kind: str) -> str:
            found[kind] += 1
            return f"[scrubbed:{kind}]"

        if self._values is not None:
            text = self._values.sub(lambda match: by(self._known[match[0]]), text)
        for kind, shape in self._shapes:
            text = shape.sub(lambda _, kind=kind: by(kind), text)  # type: ignore[misc]
        return text

    def line(self, line: bytes, found: Counter[str]) -> bytes:
        """One line of a session file, with or without its end."""
        lead = _BOM if line.startswith(_BOM) else b""
        body = line[len(lead) :]
        core = body.rstrip(b"\r\n")
        end = body[len(core) :]
        if not core.strip():
            return line
        try:
            decode(core)
        except BadLine:
            return lead + self._damaged(core, found) + end
        return lead + self._record(core, found) + end

    def raw(self, data: bytes, found: Counter[str]) -> bytes:
        """Bytes that are no record: what is left of one."""
        return self.text(data.decode("latin-1"), found).encode("latin-1")

    def _damaged(self, line: bytes, found: Counter[str]) -> bytes:
        """A damaged line: the records inside it as records, the rest as bytes."""
        pieces, done = [], 0
        for item in salvage(line):
            pieces += [
                self.raw(line[done : item.start], found),
                self._record(line[item.start : item.end], found),
            ]
            done = item.end
        return b"".join([*pieces, self.raw(line[done:], found)])

    def _record(self, line: bytes, found: Counter[str]) -> bytes:
        record: dict[str, Any] = msgspec.json.decode(unsealed(line))
        here: Counter[str] = Counter()
        clean: dict[str, Any] = self._value(record, here)
        if not here:
            return line
        found.update(here)
        message = clean.get("message")
        if isinstance(message, dict) and message.get("type") == "assistant":
            _unsign(message)
        return seal(clean)

    def _value(self, value: Any, found: Counter[str]) -> Any:
        if isinstance(value, str):
            return self.text(value, found)
        if isinstance(value, list):
            return [self._value(item, found) for item in value]
        if isinstance(value, dict):
            return {
                self.text(name, found): item
                if name in _KEPT and isinstance(item, str | int)
                else self._value(item, found)
                for name, item in value.items()
            }
        return value


def _unsign(message: dict[str, Any]) -> None:
    """An answer that was changed cannot be sent back as the provider's own words."""
    message.pop("native", None)
    for part in message.get("content", ()):
        if isinstance(part, dict) and part.get("type") == "thinking":
            part.pop("signature", None)
            part.pop("redacted", None)
