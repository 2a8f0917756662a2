"""Chapter 4, opt-in: the one file that may talk to a network.

Owns the use of the OpenAI SDK, which is imported only when a reader asks for a live run.  Knows nothing of
messages or tools.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Any

from .responses import TransportError
from .streaming import Event

ENDPOINT = "https://api.openai.com/v1"
TIMEOUT_SECONDS = 30.0


class LiveUnavailable(Exception):
    """A live run cannot start.  The message is one sentence with the next step."""


def connect() -> OpenAITransport:
    """Make a transport from the SDK and OPENAI_API_KEY.

    The endpoint is written out, so that a variable in the environment cannot send the key elsewhere.  The SDK
    must not retry: it would do so out of sight of the rule in open_with_retry.

    Raises:
        LiveUnavailable: The SDK or the key is missing.
    """
    try:
        import openai
    except ImportError as error:
        raise LiveUnavailable(
            "--live needs the OpenAI SDK; install it with: python3 -m pip install openai"
        ) from error
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key:
        raise LiveUnavailable("--live needs a key; set the environment variable OPENAI_API_KEY")
    client = openai.AsyncOpenAI(api_key=key, base_url=ENDPOINT, max_retries=0, timeout=TIMEOUT_SECONDS)
    return OpenAITransport(client, openai.OpenAIError)


class OpenAITransport:
    """Opens streams through an SDK client and closes the client with itself."""

    def __init__(self, client: Any, sdk_error: type[Exception]) -> None:
        self._client = client
        self._sdk_error = sdk_error

    async def open(self, request: Mapping[str, Any]) -> OpenAIStream:
        """Send the request.  Only the error's class and status are passed on: its text may quote headers."""
        try:
            return OpenAIStream(await self._client.responses.create(**request), self._sdk_error)
        except self._sdk_error as error:
            status = getattr(error, "status_code", None)
            detail = type(error).__name__ + (f", status {status}" if status else "")
            raise TransportError(detail, status) from error

    async def aclose(self) -> None:
        await self._client.close()


class OpenAIStream:
    """An SDK stream as plain mappings."""

    def __init__(self, stream: Any, sdk_error: type[Exception]) -> None:
        self._stream = stream
        self._sdk_error = sdk_error

    async def __aiter__(self) -> AsyncIterator[Event]:
        try:
            async for event in self._stream:
                yield event.to_dict(warnings=False)
        # ValueError: the SDK lets an event that is not JSON surface as it is.
        except (self._sdk_error, ValueError) as error:
            raise TransportError(type(error).__name__) from error

    async def aclose(self) -> None:
        try:
            await self._stream.close()
        except self._sdk_error:
            pass  # whether the answer counts was decided by its events, and nobody else holds the connection
