"""What a provider's error answer means: status, body and names to one of `providers.errors`.

Pure.  Also takes credentials out of texts, because servers like to repeat them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wisp.messages.codec import clean
from wisp.providers.errors import (
    AuthError,
    OverloadError,
    ProviderError,
    QuotaError,
    RequestError,
    TooLongError,
    WireError,
)
from wisp.providers.retry import hinted_wait, should_retry

# Patterns are texts and compiled on first use: a run without errors never pays for them.
_OVERFLOW = "|".join(
    (
        r"prompt is too long",
        r"input length and `?max_tokens`? exceed context limit",
        r"input is too long for requested model",
        r"exceeds the context window",
        r"input token count.{0,40}exceeds the maximum",
        r"maximum prompt length is \d",
        r"reduce the length of the messages",
        r"maximum context length is \d",
        r"exceeds the limit of \d",
        r"exceeds the available context size",
        r"greater than the context length",
        r"too large for model with \d+ maximum context length",
        r"exceeded model token limit",
        r"context window exceeds limit",
        r"context_length_exceeded",
        r"model_context_window_exceeded",
    )
)
"""How services say that the prompt does not fit.  Only asked where the status allows it."""
_QUOTA = (
    r"insufficient_quota|billing|credit balance|payment required|exceeded your current quota|out of credits"
)
_BAD_KEY = r"api key (not valid|not found|expired)|API_KEY_INVALID|invalid api key|incorrect api key"
"""How services that answer 400 say that the key is the trouble."""
_SECRET = "|".join(
    (
        r"\b(?:sk|pk|rk|xai|gsk|ghp|hf)[-_][A-Za-z0-9._*\-]{8,}",
        r"\bAIza[A-Za-z0-9_\-]{8,}",
        r"\bBearer\s+[A-Za-z0-9._~+/*=\-]{8,}",
        r"(?<=api_key=)[^\s&\"']+",
        r"(?<=[?&]key=)[^\s&\"']+",
    )
)
"""What looks like a credential, whoever it belongs to."""
_TAG = r"<[^>]{0,200}>"

_BY_NAME: dict[str, type[ProviderError]] = {
    "authentication_error": AuthError,
    "invalid_api_key": AuthError,
    "permission_error": AuthError,
    "billing_error": QuotaError,
    "insufficient_quota": QuotaError,
    "context_length_exceeded": TooLongError,
    "rate_limit_error": OverloadError,
    "rate_limit_exceeded": OverloadError,
    "overloaded_error": OverloadError,
    "timeout_error": OverloadError,
    "api_error": OverloadError,
    "server_error": OverloadError,
    "internal_server_error": OverloadError,
    "invalid_request_error": RequestError,
    "not_found_error": RequestError,
    "request_too_large": TooLongError,
    "UNAUTHENTICATED": AuthError,
    "PERMISSION_DENIED": AuthError,
    "INVALID_ARGUMENT": RequestError,
    "NOT_FOUND": RequestError,
}


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` without credentials: the known ones, whole or in part, and what looks like one."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "[redacted]")
    return re.sub(_SECRET, "[redacted]", text)


def excerpt(text: str, limit: int = 300) -> str:
    """A server's text as one short, plain, printable line."""
    plain = " ".join(re.sub(_TAG, " ", clean(text)).split())
    plain = "".join(char if char.isprintable() else "�" for char in plain)
    return plain if len(plain) <= limit else plain[: limit - 3] + "..."


def error_of_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: float,
    secrets: tuple[str, ...] = (),
) -> ProviderError:
    """The error behind an answer whose status is not 200."""
    name, message = _read(body)
    where = f"HTTP {status}"
    text = redact(excerpt(message), secrets) or "no further word"
    kind = _kind(status, name, message)
    wait = hinted_wait(headers, now)
    asked = _retry_info(body) if wait is None and status in (429, 503) else ""
    if asked:  # Google's hint stands in the body, also where the text speaks of quota
        kind, wait = OverloadError, hinted_wait({"retry-after": asked}, now)
    error = kind(
        f"{text} ({where})",
        status=status,
        retry_after=wait,
        request_id=headers.get("x-request-id") or headers.get("request-id") or "",
    )
    word = should_retry(status, headers)
    if word is not None and kind not in (QuotaError, AuthError):
        error.retryable = word
    return error


def error_in_stream(name: str, message: str, status: int = 0, secrets: tuple[str, ...] = ()) -> ProviderError:
    """The error a server reported in the middle of an answer."""
    text = redact(excerpt(message or name or "the service reported an error"), secrets)
    kind: type[ProviderError]
    if status >= 400:
        kind = _kind(status, name, message)
    elif name in _BY_NAME:
        kind = _refine(_BY_NAME[name], message)
    elif _matches(_OVERFLOW, f"{name} {message}"):
        kind = TooLongError
    elif _matches(_QUOTA, f"{name} {message}"):
        kind = QuotaError
    else:
        kind = OverloadError
    return kind(text, status=status)


def error_of_page(content_type: str, body: bytes, secrets: tuple[str, ...] = ()) -> ProviderError:
    """The error behind a 200 that is not an event stream: a gateway's page, or JSON with an error inside."""
    name, message = _read(body)
    if name:
        return error_in_stream(name, message, secrets=secrets)
    text = redact(excerpt(message, 160), secrets)
    kind = content_type.split(";", maxsplit=1)[0].strip() or "no content type"
    return WireError(f"expected a stream of events, got {kind}: {text or 'an empty body'}", status=200)


def error_fields(value: Any) -> tuple[str, str, int]:
    """Name, message and status of the many shapes of an error object."""
    if isinstance(value, str):
        return "error", value, 0
    if not isinstance(value, dict):
        return "error", "", 0
    name = ""
    for key in ("code", "type", "status"):
        if isinstance(value.get(key), str) and value[key] and (not name or value[key] in _BY_NAME):
            name = value[key]
    code = value.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    message = value.get("message")
    return name or "error", message if isinstance(message, str) else "", status


def _read(body: bytes) -> tuple[str, str]:
    """Name and message of an error body; no name where it is not a JSON error."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", body[:4000].decode("utf-8", "replace")
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        inner = value.get("error")
        if inner:
            name, message, _ = error_fields(inner)
            return name, message or excerpt(body[:600].decode("utf-8", "replace"))
        for key in ("message", "detail", "error_description"):
            if isinstance(value.get(key), str):
                return "", value[key]
    return "", body[:4000].decode("utf-8", "replace")


def _retry_info(body: bytes) -> str:
    found = re.search(rb'"retryDelay"\s*:\s*"([0-9.]{1,12})s"', body)
    return found[1].decode() if found is not None else ""


def _kind(status: int, name: str, message: str) -> type[ProviderError]:
    said = f"{name} {message}"
    if status in (401, 403) or (status == 400 and _matches(_BAD_KEY, said)):
        return AuthError
    if status == 402 or (status in (400, 429) and _matches(_QUOTA, said)):
        return QuotaError
    if status in (408, 409, 425, 429) or status >= 500:
        return OverloadError
    if status in (400, 413, 422) and (status == 413 or _matches(_OVERFLOW, said)):
        return TooLongError
    if 400 <= status < 500:
        return RequestError
    return WireError


def _refine(kind: type[ProviderError], message: str) -> type[ProviderError]:
    if kind is RequestError and _matches(_OVERFLOW, message):
        return TooLongError
    if kind is OverloadError and _matches(_QUOTA, message):
        return QuotaError
    return kind


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
