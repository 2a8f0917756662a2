"""Known credentials never enter the transcript: placeholders stand for them, filled in for file edits alone.

Knows values and their usual disguises, not shapes: a file with key-like text that is no known credential
stays byte-true.  Never filled in for commands, which could carry them away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wisp.messages.content import Text
from wisp.messages.message import UserMessage
from wisp.messages.tool import ToolOutcome

SHORTEST = 8
"""Values below this many characters are too likely to be ordinary words."""
FILLED_TOOLS = frozenset({"edit", "write"})


class Masker:
    """Masks a set of values, which may grow.

    Args:
        secrets: names (for placeholders) to values.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._secrets = {
            f"[secret:{name}]": value for name, value in (secrets or {}).items() if len(value) >= SHORTEST
        }
        self._names: dict[str, str] = {}
        self._compiled: re.Pattern[str] | None = None

    def add(self, name: str, value: str) -> None:
        """Mask one more value from now on: a token that replaced another."""
        if len(value) >= SHORTEST:
            self._secrets[f"[secret:{name}]"] = value
            self._compiled = None

    @property
    def _pattern(self) -> re.Pattern[str] | None:
        """All values in all their forms; made at the first tool result, not before the first request."""
        if self._compiled is None and self._secrets:
            for holder, value in self._secrets.items():
                for form in disguises(value):
                    self._names.setdefault(form, holder)
            longest_first = sorted(self._names, key=len, reverse=True)
            self._compiled = re.compile("|".join(map(re.escape, longest_first)))
        return self._compiled

    def mask(self, text: str) -> str:
        """`text` with every known value, also in base64, URL encoding or JSON escapes, as its placeholder."""
        pattern = self._pattern
        return text if pattern is None else pattern.sub(lambda found: self._names[found[0]], text)

    def fill(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A call's arguments with placeholders as values, for tools that write files; others as they are."""
        if tool not in FILLED_TOOLS or not self._secrets:
            return arguments
        filled: dict[str, Any] = self._filled(arguments)
        return filled

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            for holder, secret in self._secrets.items():
                value = value.replace(holder, secret)
            return value
        if isinstance(value, dict):
            return {name: self._filled(item) for name, item in value.items()}
        return [self._filled(item) for item in value] if isinstance(value, list) else value

    def outcome(self, outcome: ToolOutcome) -> ToolOutcome:
        """An outcome as it may be kept and told."""
        if not self._secrets:
            return outcome
        content = tuple(Text(self.mask(b.text)) if isinstance(b, Text) else b for b in outcome.content)
        return msgspec.structs.replace(outcome, content=content, details=self._masked(outcome.details))

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            return {name: self._masked(item) for name, item in value.items()}
        return [self._masked(item) for item in value] if isinstance(value, list) else value

    def mask_plain(self, text: str) -> str:
        """`text` without known values as a person would paste them."""
        return self.message(UserMessage((Text(text),))).text

    def message(self, message: UserMessage) -> UserMessage:
        """A user message as it may be kept and sent; unmasked values only, as a person would paste them."""
        if not any(value in message.text for value in self._secrets.values()):
            return message
        content = tuple(Text(self.mask(b.text)) if isinstance(b, Text) else b for b in message.content)
        return UserMessage(content, message.id)


def disguises(value: str) -> list[str]:
    """`value`, and how it looks in base64 (at each of three alignments), in a URL, inside a JSON string."""
    import base64
    import json
    from urllib.parse import quote

    raw = value.encode("utf-8", "surrogatepass")
    forms = [value, quote(value, safe=""), json.dumps(value)[1:-1]]
    for lead in range(3):
        whole = base64.b64encode(b"\0" * lead + raw).decode().rstrip("=")
        inner = whole[(0, 2, 3)[lead] : len(whole) - (0 if (lead + len(raw)) % 3 == 0 else 1)]
        forms += [inner, inner.replace("+", "-").replace("/", "_")]
    return [form for form in dict.fromkeys(forms) if len(form) >= SHORTEST]
