"""`POST /responses/compact` as the test server has it: what the user said, and one sealed item for the rest.

The seal is only a compression, so that a test can look into it; a changed one is refused, as by the service.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import msgspec

PATH = "/responses/compact"
_KNOWN = frozenset(
    {
        "model",
        "input",
        "instructions",
        "previous_response_id",
        "service_tier",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
    }
)


def sealed(items: list[Any]) -> str:
    """Items as the content of a compaction item."""
    data = zlib.compress(msgspec.json.encode(items))
    return base64.urlsafe_b64encode(b"%08x" % zlib.crc32(data) + data).decode()


def unsealed(content: str) -> list[Any] | None:
    """The items again; None when it is not as it was made."""
    try:
        data = base64.urlsafe_b64decode(content)
    except ValueError:
        return None
    if data[:8] != b"%08x" % zlib.crc32(data[8:]):
        return None
    found: list[Any] = msgspec.json.decode(zlib.decompress(data[8:]))
    return found


def problems(entries: Any) -> list[str]:
    """What the service would refuse of the compaction items in an input."""
    sent = [e for e in entries if e.get("type") == "compaction"] if isinstance(entries, list) else []
    return [
        "a compaction item is not as it was made"
        for item in sent
        if set(item) != {"id", "type", "encrypted_content"} or unsealed(item["encrypted_content"]) is None
    ]


def answer(number: int, path: str, headers: dict[str, str], body: bytes) -> tuple[Any, int, bytes]:
    """The request as it was received, the status, and the document that answers it."""
    from wisp.testing.frames import error_body
    from wisp.testing.requests import Request, problems_of

    parsed = msgspec.json.decode(body, type=dict[str, Any])
    found = [f"the field {name!r} is not known" for name in sorted(set(parsed) - _KNOWN)]
    if not isinstance(parsed.get("input"), list) or not parsed["input"]:
        found.append("there is no input")
    else:
        found += problems_of("responses", parsed)
    request = Request(number, "compact", path, headers, body, parsed, found)
    if found:
        return request, 400, error_body("responses", 400, message="; ".join(found))
    said = [_message(n, entry) for n, entry in enumerate(parsed["input"]) if entry.get("role") == "user"]
    rest = [entry for entry in parsed["input"] if entry.get("role") != "user"]
    item = {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": sealed(rest)}
    usage = {
        "input_tokens": len(body) // 4,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 50,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": len(body) // 4 + 50,
    }
    document = {
        "id": f"resp_compact_{number}",
        "object": "response.compaction",
        "created_at": 1_764_967_971,
        "output": [*said, item],
        "usage": usage,
    }
    return request, 200, msgspec.json.encode(document)


def _message(number: int, entry: Any) -> Any:
    return {"id": f"msg_{number}", "type": "message", "status": "completed", **entry}
