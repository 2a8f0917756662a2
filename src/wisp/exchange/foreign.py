"""What readers of other programs' files share: lines that may be damaged, blocks that may be anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from wisp.exchange.transcript import Losses
from wisp.messages.codec import clean
from wisp.messages.content import Image, Text


def rows(data: bytes, lost: Losses) -> Iterator[dict[str, Any]]:
    """Every line that is a JSON object."""
    for raw in data.splitlines():
        if not raw.strip():
            continue
        try:
            row = json.loads(raw)
        except (ValueError, RecursionError):
            lost["damaged lines"] += 1
            continue
        if isinstance(row, dict):
            yield row
        else:
            lost["lines of other kinds"] += 1


def dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """A text that may be stored and sent."""
    return clean(value) if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """A number of tokens; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def blocks(content: Any, lost: Losses) -> tuple[Text | Image, ...]:
    """Words and pictures, in the forms that Anthropic's API, the Responses API and pi have for them."""
    if isinstance(content, str):
        return (Text(clean(content)),)
    found: list[Text | Image] = []
    for part in dicts(content):
        kind = str(part.get("type", ""))
        if kind in ("text", "input_text", "output_text"):
            found.append(Text(text(part.get("text"))))
        elif (picture := _picture(part)) is not None:
            found.append(picture)
        else:
            lost[f"blocks of kind {kind or 'unknown'}"] += 1
    return tuple(found)


def _picture(part: dict[str, Any]) -> Image | None:
    source, address = part.get("source"), part.get("image_url")
    if isinstance(source, dict) and source.get("type") == "base64" and isinstance(source.get("data"), str):
        return Image(str(source.get("media_type", "image/png")), source["data"])
    if isinstance(address, str) and address.startswith("data:"):
        head, _, body = address[5:].partition(",")
        return Image(head.partition(";")[0], body)
    if part.get("type") == "image" and isinstance(part.get("data"), str):
        return Image(str(part.get("mimeType", "image/png")), part["data"])
    return None
