"""Files that a person names in a prompt as `@path`.  Pure; whether there is one is for others to see."""

from __future__ import annotations

import re

_MENTION = re.compile(r'(?<![\w@.])@(?:"([^"\n]+)"|([^\s"@]+))')
_AFTER = ".,;:!?)]}>'"


def mentions(text: str) -> tuple[str, ...]:
    """Every path that `text` mentions, once each, in order; quoted where it holds a blank: `@"a b.txt"`.

    Punctuation after a path is the sentence's.
    """
    found = (quoted or bare.rstrip(_AFTER) for quoted, bare in _MENTION.findall(text))
    return tuple(dict.fromkeys(path for path in found if path))
