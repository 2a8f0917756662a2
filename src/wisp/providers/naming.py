"""The tools' own names in a stream of events, where the wire has others.  Pure."""

from __future__ import annotations

import msgspec

from wisp.messages.content import AssistantBlock, ToolCall
from wisp.providers.events import Finished, PartEnded, PartStarted, ProviderEvent


def own_names(event: ProviderEvent, names: dict[str, str]) -> ProviderEvent:
    """`event` with the tools' own names in place of those on the wire."""
    if isinstance(event, PartStarted) and event.name in names:
        return msgspec.structs.replace(event, name=names[event.name])
    if isinstance(event, PartEnded):
        return msgspec.structs.replace(event, block=_own_name(event.block, names))
    if isinstance(event, Finished):
        content = tuple(_own_name(block, names) for block in event.message.content)
        return Finished(msgspec.structs.replace(event.message, content=content))
    return event


def _own_name(block: AssistantBlock, names: dict[str, str]) -> AssistantBlock:
    if isinstance(block, ToolCall) and block.name in names:
        return msgspec.structs.replace(block, name=names[block.name])
    return block
