"""The tools' own names in place of those that come over the wire, also where a model writes them its own way.

A name goes out changed where a service takes fewer characters.  Models that were taught another harness's
notation put a namespace before a name (`functions.bash`), a token of their own format behind it
(`bash<|channel|>commentary`) or use another case.  What names one tool that way, and only one, is that tool;
anything else stays as it came, and is answered with the names there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from wisp.messages.content import AssistantBlock, ToolCall
from wisp.providers.events import Finished, PartEnded, PartStarted, ProviderEvent

_NAMESPACES = ("functions", "tools", "default_api", "tool_call")


class ToolNames:
    """The names of one request.

    Args:
        changed: names on the wire that are not the tool's own, with its own.
        offered: the tools' own names.
    """

    def __init__(self, changed: Mapping[str, str], offered: Iterable[str]) -> None:
        self._changed = changed
        self._offered = tuple(offered)

    def own(self, name: str) -> str:
        """The tool meant by `name`; `name` itself where that is none, or more than one."""
        found = self._changed.get(name, name)
        if found in self._offered or not name:
            return found
        bare = name.partition("<|")[0].strip()
        for mark in (".", ":", "/"):
            space, _, rest = bare.partition(mark)
            if rest and space in _NAMESPACES:
                bare = rest
        bare = self._changed.get(bare, bare)
        if bare in self._offered:
            return bare
        alike = [tool for tool in self._offered if tool.casefold() == bare.casefold()]
        return alike[0] if len(alike) == 1 else name

    def mended(self, event: ProviderEvent) -> ProviderEvent:
        """`event` with the tools' own names."""
        if isinstance(event, PartStarted):
            name = self.own(event.name)
            return event if name == event.name else msgspec.structs.replace(event, name=name)
        if isinstance(event, PartEnded):
            block = self._block(event.block)
            return event if block is event.block else msgspec.structs.replace(event, block=block)
        if isinstance(event, Finished):
            content = tuple(self._block(block) for block in event.message.content)
            if any(new is not old for new, old in zip(content, event.message.content, strict=True)):
                return Finished(msgspec.structs.replace(event.message, content=content))
        return event

    def _block(self, block: AssistantBlock) -> AssistantBlock:
        if isinstance(block, ToolCall) and (name := self.own(block.name)) != block.name:
            return msgspec.structs.replace(block, name=name)
        return block
