"""Errors are told apart by fault, and say nothing that should not be said."""

import json

import pytest

from wisp.providers.faults import error_in_stream, error_of_page, error_of_response, redact

OVERFLOWS = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000",
    "Input is too long for requested model.",
    "Your input exceeds the context window of this model.",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    "Please reduce the length of the messages or completion.",
    "This endpoint's maximum context length is 32768 tokens.",
    "prompt token count of 200000 exceeds the limit of 128000",
    "the request exceeds the available context size, try increasing it",
    "The number of tokens to keep from the initial prompt is greater than the context length",
    "Prompt contains 40000 tokens ... too large for model with 32768 maximum context length",
    "Your request exceeded model token limit: 262144",
    "invalid params, context window exceeds limit",
]
LIMITS = [
    "Rate limit reached for tokens per minute (TPM): Limit 30000, Used 29000",
    "Too many tokens, please wait before trying again.",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
]


def kind(status, message="", code="", headers=None):
    body = json.dumps({"error": {"message": message, "code": code}}).encode()
    return error_of_response(status, headers or {}, body, now=0.0).kind


@pytest.mark.parametrize("status", [400, 413])
@pytest.mark.parametrize("message", OVERFLOWS)
def test_every_service_s_way_of_saying_too_long_is_understood(message, status):
    assert kind(status, message) == "too_long"


@pytest.mark.parametrize("status", [429, 529, 503])
@pytest.mark.parametrize("message", OVERFLOWS + LIMITS)
def test_a_busy_service_is_never_an_overflow(message, status):
    assert kind(status, message) == "overload"


@pytest.mark.parametrize("message", LIMITS)
def test_a_rate_limit_is_never_an_overflow_whatever_its_status(message):
    assert kind(400, message) == "request"


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, "", "request"),
        (400, "context_length_exceeded", "too_long"),
        (401, "", "auth"),
        (402, "", "quota"),
        (403, "", "auth"),
        (404, "", "request"),
        (408, "", "overload"),
        (409, "", "overload"),
        (413, "", "too_long"),
        (422, "", "request"),
        (429, "", "overload"),
        (429, "insufficient_quota", "quota"),
        (500, "", "overload"),
        (502, "", "overload"),
        (504, "", "overload"),
        (529, "", "overload"),
        (302, "", "wire"),
    ],
)
def test_statuses_have_their_fault(status, code, expected):
    assert kind(status, code=code) == expected


def test_a_key_that_is_refused_with_400_is_a_matter_of_credentials():
    """As Gemini says it."""
    assert kind(400, "API key not valid. Please pass a valid API key.") == "auth"
    assert kind(400, "API key expired. Please renew the API key.") == "auth"
    assert kind(400, "the parameter key is not valid") == "request"


def test_an_account_without_credit_is_a_quota_error():
    assert kind(400, "Your credit balance is too low to access the API.") == "quota"


@pytest.mark.parametrize(
    ("name", "expected", "retryable"),
    [
        ("overloaded_error", "overload", True),
        ("rate_limit_error", "overload", True),
        ("api_error", "overload", True),
        ("authentication_error", "auth", False),
        ("invalid_request_error", "request", False),
        ("insufficient_quota", "quota", False),
        ("server_error", "overload", True),
        ("context_length_exceeded", "too_long", False),
        ("never heard of", "overload", True),
    ],
)
def test_errors_in_a_stream_have_their_fault(name, expected, retryable):
    error = error_in_stream(name, "something")
    assert (error.kind, error.retryable) == (expected, retryable)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"plain words",
        b"<html><body>bad</body></html>",
        b'{"error":"words"}',
        b'{"error":{"message":"words"}}',
        b'[{"error":{"message":"words","status":"X"}}]',
        b'{"message":"words"}',
        b'{"detail":"words"}',
        b'{"error":null}',
        b"\xff\xfe\x00",
        b'{"error":{"message":7}}',
        b"[" * 5000,
        b"null",
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_any_body_gives_one_printable_line(body, status):
    message = error_of_response(status, {}, body, now=0.0).message
    assert message.isprintable()
    assert message.endswith(f"(HTTP {status})")
    assert len(message) < 400


def test_a_terminal_sequence_in_an_error_is_not_passed_on():
    message = error_of_page("text/html", b"\x1b]0;owned\x07\x1b[2J hello").message
    assert "\x1b" not in message
    assert "hello" in message


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefghijklmnop. Find it at",
        "Authorization: Bearer abcdefghijklmnop",
        "https://x/?api_key=abcdefghijklmnop&y=1",
        "x-api-key sk-ant-abcdefghijklmnop",
        "the secret abcdefghijklmnop is bad",
    ],
)
def test_credentials_are_taken_out(text):
    assert "abcdefghijklmnop" not in redact(text, ("abcdefghijklmnop",))
    if "secret" not in text:
        assert "abcdefghijklmnop" not in redact(text)


@pytest.mark.parametrize("text", ["the task-list is long", "risk-averse monkey_business", "a key is missing"])
def test_ordinary_words_are_left_alone(text):
    assert redact(text) == text


def test_the_services_request_id_is_kept():
    assert error_of_response(500, {"x-request-id": "req_7"}, b"", now=0.0).request_id == "req_7"
