"""How much room the window leaves for an answer: clamps the output figure a request asks for.

An estimate from bytes, corrected by the usage of the last answer where the history has one.
"""

from __future__ import annotations

from wisp.messages.content import Image
from wisp.messages.message import AssistantMessage, ToolResult, UserMessage
from wisp.providers.base import ModelRequest
from wisp.providers.errors import ProviderError, TooLongError

BYTES_PER_TOKEN = 4
IMAGE_TOKENS = 1600
MARGIN = 1024
"""Tokens kept free beyond the estimate."""
LEAST = 1024
"""Never asked for less: a prompt that leaves no more has to be refused, not answered in one word."""


def output_limit(request: ModelRequest, ceiling: int, body_bytes: int) -> int:
    """The output tokens to ask for: `ceiling`, or what the model's window leaves of it."""
    window = request.model.context_window
    if window is None:
        return ceiling
    room = window - estimate(request, body_bytes) - max(MARGIN, window // 100)
    return max(min(ceiling, room), min(LEAST, ceiling))


def estimate(request: ModelRequest, body_bytes: int) -> int:
    """Tokens of the prompt: measured up to the last answer, estimated after it."""
    later = 0
    for message in reversed(request.messages):
        if isinstance(message, AssistantMessage):
            usage = message.usage
            known = usage.prompt_tokens if usage is not None else None
            if usage is not None and known is not None:
                return known + (usage.output_tokens or 0) + later
            break
        later += _size(message)
    if body_bytes // BYTES_PER_TOKEN < (request.model.context_window or 0) // 4:
        return body_bytes // BYTES_PER_TOKEN  # small however it is counted: the history is not walked
    pictures = [
        block
        for message in request.messages
        if isinstance(message, UserMessage | ToolResult)
        for block in message.content
        if isinstance(block, Image)
    ]
    data = sum(len(block.data) for block in pictures)
    return (body_bytes - data) // BYTES_PER_TOKEN + len(pictures) * IMAGE_TOKENS


def room_left(error: ProviderError) -> int:
    """Output tokens that would have fitted, where a service refused only the sum of prompt and output:
    "input length and max_tokens exceed context limit: 190000 + 64000 > 200000".  0 where it did not."""
    if not isinstance(error, TooLongError):
        return 0
    import re

    found = re.search(r"max_tokens.{0,40}: (\d{1,9}) \+ (\d{1,9}) > (\d{1,9})", error.message)
    if found is None:
        return 0
    prompt, _, window = (int(figure) for figure in found.groups())
    room = window - prompt - 64
    return room if room >= LEAST else 0


def _size(message: object) -> int:
    """Tokens of one message that is not an answer, estimated."""
    content = getattr(message, "content", ())
    if not content:
        return len(getattr(message, "text", "")) // 3 + 16
    return 16 + sum(
        IMAGE_TOKENS if isinstance(block, Image) else len(block.text.encode("utf-8", "replace")) // 3
        for block in content
    )
