"""The doors where JSON and text come in: strict argument parsing, clean text, ASCII-only output.

Python's own defaults are hostile here: duplicate keys keep the last, NaN parses, lone surrogates
explode later.  Everything that crosses this module is free of those.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

MAX_DEPTH = 64
"""Deepest nesting accepted in a call's arguments."""
MAX_DIGITS = 400
"""Longest number accepted, in characters."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NON_ASCII = re.compile("[^\x00-\x7f]")


class NotAnObject(ValueError):
    """The text is not one strict JSON object; the message says why."""


def clean(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it can always be encoded."""
    return _SURROGATE.sub("\ufffd", text) if not text.isascii() and _SURROGATE.search(text) else text


def paired(text: str) -> str:
    """`text`, where two halves of a surrogate pair side by side are the one character they mean."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def strict_object(text: str) -> dict[str, Any]:
    """Parse one JSON object the way a careful reader would (RFC 8259, and I-JSON's unique names).

    Raises:
        NotAnObject: on anything else: other values, duplicate names, NaN or infinities, numbers beyond
            `MAX_DIGITS`, nesting beyond `MAX_DEPTH`, lone surrogates, trailing text.
    """
    import json  # only once a call is made: a first request needs none

    try:
        value = json.loads(
            text,
            object_pairs_hook=unique,
            parse_constant=_no_constant,
            parse_int=_bounded_int,
            parse_float=_finite,
        )
    except NotAnObject:
        raise
    except RecursionError:
        raise NotAnObject(f"nested deeper than {MAX_DEPTH}") from None
    except ValueError as exc:
        raise NotAnObject(str(exc)) from None
    if not isinstance(value, dict):
        raise NotAnObject(f"expected a JSON object, got {type(value).__name__}")
    _check(value, MAX_DEPTH)
    return value


def arguments_or_fault(text: str | None) -> tuple[str, str]:
    """A call's argument text as it may be kept: `(valid JSON object text, why the original was refused)`.

    Nothing at all means no arguments, as several servers send it.
    """
    if text is None or not text.strip() or text.strip() == "null":
        return "{}", ""
    try:
        strict_object(text)
    except NotAnObject as exc:
        head, tail = text[:200], text[-200:] if len(text) > 400 else text[200:]
        shown = head + (" ... " if len(text) > 400 else "") + tail
        return "{}", clean(f"the arguments are not a valid JSON object ({exc}): {shown}")
    return text, ""


def ascii_json(value: Any) -> bytes:
    """`value` as compact JSON with every character beyond ASCII escaped: safe on one line, in any locale.

    A lone surrogate, which no JSON reader has to accept, becomes U+FFFD.
    """
    try:
        raw = msgspec.json.encode(value)
    except UnicodeEncodeError:
        raw = msgspec.json.encode(_cleaned(msgspec.to_builtins(value)))
    if raw.isascii():
        return raw
    return _NON_ASCII.sub(_escape, raw.decode()).encode("ascii")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(item) for name, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list | tuple) else value


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these members; for `object_pairs_hook`.

    Raises:
        NotAnObject: a name appears twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise NotAnObject(f"the name {clean(name)!r} appears twice")
            seen.add(name)
    return found


def _no_constant(name: str) -> Any:
    raise NotAnObject(f"{name} is not JSON")


def _bounded_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise NotAnObject("a number is too long")
    return int(text)


def _finite(text: str) -> float:
    if len(text) > MAX_DIGITS:
        raise NotAnObject("a number is too long")
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise NotAnObject("a number is out of range")
    return value


def _check(value: Any, depth: int) -> None:
    if depth < 0:
        raise NotAnObject(f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, str):
        if not value.isascii() and _SURROGATE.search(value):
            raise NotAnObject("a string holds half a surrogate pair")
    elif isinstance(value, dict):
        for name, item in value.items():
            _check(name, depth)
            _check(item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth - 1)
