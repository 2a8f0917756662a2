"""What a call led to, as a model can read it: text, pictures, and a word for what it cannot be shown."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any

from wisp.mcp.shape import misfit
from wisp.messages.codec import ascii_json, clean
from wisp.messages.content import Image, ResultBlock, Text
from wisp.messages.tool import ToolOutcome
from wisp.tools.render import MAX_BYTES, MAX_LINES, clip, clip_bytes, plain_output

MOST_IMAGES = 8
MOST_IMAGE = 5 << 20
"""Bytes of one picture, decoded."""
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")

Keep = Callable[[bytes], str]
"""Keeps a whole text in a file; where that is, or empty where it could not be kept."""


def outcome_of(result: Mapping[str, Any], keep: Keep, output: Any = None) -> ToolOutcome:
    """The outcome in the result of `tools/call`.

    Args:
        output: the schema that structured results should fit; None where there is none.
        keep: called where the text is longer than a model is shown.
    """
    parts: list[str] = []
    images: list[Image] = []
    content = result.get("content")
    for item in content if isinstance(content, list) else ():
        made = _block(item) if isinstance(item, dict) else "[a part that is not of the protocol]"
        if isinstance(made, str):
            parts.append(made)
        elif len(images) < MOST_IMAGES:
            images.append(made)
        else:
            parts.append("[one more image, not shown]")
    structured = result.get("structuredContent")
    if structured is not None and not _said_already(structured, parts):
        parts.append(ascii_json(structured).decode())
    text = _bounded(plain_output(clean("\n".join(part for part in parts if part))), keep)
    failed = result.get("isError") is True
    odd = "" if output is None or failed else _odd(structured, output)
    if failed:
        text = f"error (tool_error): {text or 'the tool failed and gave no reason'}"
    elif not text and not images:
        text = "(the tool gave no result)"
    if odd:
        text += f"\n[the server breaks its word: {odd}; do not rely on the form of this result]"
    blocks: tuple[ResultBlock, ...] = (*((Text(text),) if text else ()), *images)
    details = {"structured": structured} if structured is not None and not odd else {}
    return ToolOutcome(blocks, failed, "tool_error" if failed else "", details)


def _odd(structured: Any, output: Any) -> str:
    """How a result differs from the schema that its server published for it; empty where it fits."""
    if structured is None:
        return "it published a schema for its results, and this one is not structured"
    wrong = misfit(structured, output)
    return f"its structured result does not fit the schema it published: {clean(wrong)}" if wrong else ""


def _block(item: Mapping[str, Any]) -> str | Image:
    kind = item.get("type")
    if kind == "text":
        return str(item.get("text") or "")
    if kind == "image":
        return _image(item)
    if kind == "audio":
        return f"[audio, {_word(item.get('mimeType'))}, {_size(item.get('data'))}; it cannot be heard here]"
    if kind == "resource_link":
        said = ", ".join(_word(item[key]) for key in ("name", "description", "mimeType") if item.get(key))
        return f"[resource {_word(item.get('uri'))}{': ' + said if said else ''}]"
    if kind == "resource":
        resource = item.get("resource")
        return resource_text(resource) if isinstance(resource, dict) else "[a resource without contents]"
    return f"[a part of kind {_word(kind)}, not shown]"


def resource_text(resource: Mapping[str, Any]) -> str:
    """The contents of one resource, under its address."""
    head = f"[resource {_word(resource.get('uri'))}"
    if isinstance(resource.get("text"), str):
        return f"{head}]\n{resource['text']}"
    return f"{head}, {_word(resource.get('mimeType'))}, {_size(resource.get('blob'))}; not text, not shown]"


def _image(item: Mapping[str, Any]) -> str | Image:
    data, kind = item.get("data"), item.get("mimeType")
    if not isinstance(data, str) or kind not in PICTURES:
        return f"[an image of kind {_word(kind)}, not shown]"
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "[an image that is not base64]"
    if not raw or len(raw) > MOST_IMAGE:
        return f"[an image of {len(raw):,} bytes, not shown: the limit is {MOST_IMAGE:,}]"
    return Image(kind, base64.b64encode(raw).decode("ascii"))


def _said_already(structured: Any, parts: list[str]) -> bool:
    """Whether a text is the structured content once more, as the protocol asks of servers."""
    for part in parts:
        try:
            if json.loads(part) == structured:
                return True
        except (ValueError, RecursionError):
            continue
    return False


def _bounded(text: str, keep: Keep) -> str:
    """As much of the text as a model is shown, with a word about the rest."""
    lines = text.split("\n")
    shown, taken = clip(lines)
    if taken == len(lines):
        return text
    if not taken:  # one line that is too long by itself
        shown = clip_bytes(text, MAX_BYTES)
    whole = text.encode("utf-8", "replace")
    where = keep(whole)
    rest = f"all of it is in {where}" if where else "the rest was not kept"
    return (
        f"{shown}\n[cut here: of {len(lines):,} lines and {len(whole):,} bytes at most {MAX_LINES:,} lines "
        f"and {MAX_BYTES:,} bytes are shown; {rest}]"
    )


def _word(value: Any) -> str:
    """A short word of a server's, on one line."""
    return " ".join(value[:500].split()) if isinstance(value, str) else "unknown"


def _size(data: Any) -> str:
    return f"about {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else "size unknown"
