"""What a client sends with a prompt, as a prompt of ours; and what was said before, as updates.  Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator

from wisp.frontends.acp.calls import arguments_of, kind_of, locations_of, plan_of, result_content, title_of
from wisp.frontends.acp.types import (
    AgentChunk,
    AudioContent,
    CallStarted,
    CallUpdated,
    Content,
    ImageContent,
    PlanUpdate,
    ResourceLink,
    ShownText,
    TextContent,
    ThoughtChunk,
    Update,
    UserChunk,
)
from wisp.frontends.wire.peer import INVALID_PARAMS, RpcError
from wisp.host.commands import Prompt
from wisp.host.showing import inert
from wisp.messages.content import Image, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Message, ToolResult, UserMessage

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MOST_IMAGE = 5_000_000
"""Largest picture in bytes; services refuse more."""


def prompt_of(parts: Iterable[Content]) -> Prompt:
    """The prompt that these parts make: their words in order, then the pictures.

    Raises:
        RpcError: a part cannot be used.
    """
    words: list[str] = []
    images: list[Image] = []
    for part in parts:
        if isinstance(part, TextContent):
            words.append(part.text)
        elif isinstance(part, ResourceLink):
            words.append(f"[{part.title or part.name}]({part.uri})")
        elif isinstance(part, ImageContent):
            images.append(_image(part.mime_type, part.data))
        elif isinstance(part, AudioContent):
            raise RpcError(INVALID_PARAMS, "audio cannot be taken; see promptCapabilities")
        else:
            held = part.resource
            if held.text is not None:
                words.append(f'\n<resource uri="{held.uri}">\n{held.text}\n</resource>\n')
            elif held.blob is not None and held.mime_type in IMAGES:
                images.append(_image(held.mime_type or "", held.blob))
            else:
                raise RpcError(INVALID_PARAMS, f"{held.uri} is neither text nor a picture")
    text = "".join(words)
    if not text.strip() and not images:
        raise RpcError(INVALID_PARAMS, "the prompt is empty")
    return Prompt(text, tuple(images))


def _image(media_type: str, data: str) -> Image:
    if media_type not in IMAGES:
        raise RpcError(INVALID_PARAMS, f"{media_type!r} is none of {', '.join(IMAGES)}")
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        raise RpcError(INVALID_PARAMS, "a picture's data is not base64") from None
    if not 0 < size <= MOST_IMAGE:
        raise RpcError(INVALID_PARAMS, f"a picture has {size:,} bytes; 1 to {MOST_IMAGE:,} are taken")
    return Image(media_type, data)


def replayed(messages: Iterable[Message], cwd: str) -> Iterator[Update]:
    """A conversation as the updates that would have told it."""
    plans: dict[str, PlanUpdate] = {}
    names: dict[str, str] = {}
    for message in messages:
        name = getattr(message, "id", "") or None
        if isinstance(message, UserMessage):
            for block in message.content:
                yield UserChunk(content=_content(block), message_id=name)
        elif isinstance(message, AssistantMessage):
            for part in message.content:
                if isinstance(part, Text):
                    yield AgentChunk(content=ShownText(text=inert(part.text)), message_id=name)
                elif isinstance(part, Thinking) and part.text:
                    yield ThoughtChunk(content=ShownText(text=inert(part.text)), message_id=name)
                elif isinstance(part, ToolCall):
                    names[part.id] = call_name(name, part.id)
                    started = call_started(names[part.id], part.name, part.arguments, cwd)
                    yield started
                    plan = plan_of(started.raw_input) if part.name == "todo" else None
                    if plan is not None:
                        plans[part.id] = plan
        elif isinstance(message, ToolResult):
            plan = plans.pop(message.call_id, None)
            if plan is not None and not message.is_error:
                yield plan
            yield CallUpdated(
                tool_call_id=names.get(message.call_id, message.call_id),
                status="failed" if message.is_error else "completed",
                content=result_content(message.text, "", message.content, cwd),
            )


def _content(block: Text | Image) -> ShownText | ImageContent:
    if isinstance(block, Text):
        return ShownText(text=inert(block.text))
    return ImageContent(mime_type=block.media_type, data=block.data)


def call_name(message_id: str | None, call_id: str) -> str:
    """An id that is unique in the session: models number the calls of each message anew."""
    return f"{message_id}.{call_id}" if message_id else call_id


def call_started(call_id: str, tool: str, text: str, cwd: str) -> CallStarted:
    """What is told of a call when the model has asked for it."""
    arguments = arguments_of(text)
    return CallStarted(
        tool_call_id=call_id,
        title=title_of(tool, arguments),
        kind=kind_of(tool),
        status="pending",
        locations=locations_of(arguments, cwd) or None,
        raw_input=arguments,
    )
