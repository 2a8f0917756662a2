"""Many tools for little room: one tool that finds them and shows how they are called, one that calls them.

A call through it is that tool's call: judged, asked about and recorded under its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from wisp.messages.codec import ascii_json
from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, Tool

FIND, CALL = "mcp_tools", "mcp_call"
MOST_SHOWN = 20
"""Tools of one answer with all that is known of them; of more only names are told."""
_CUT = 300


class Known(Tool, Protocol):
    """A tool that can be found."""

    @property
    def identity(self) -> tuple[str, str]:
        """The same for the same tool, described in the same words."""
        ...


class FindTool:
    """Finds tools by words of their names and descriptions; implements `tools.base.Tool`, without effects."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(self, tools: Sequence[Known]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        count: dict[str, int] = {}
        for name in self._tools:
            server = name.split("__")[1]
            count[server] = count.get(server, 0) + 1
        servers = ", ".join(f"{server} ({number})" for server, number in sorted(count.items()))
        self.spec = ToolSpec(
            FIND,
            "Find tools of MCP servers by words, or by whole names, and how they are called; without words, "
            f"all names. {CALL} calls them. Servers: {servers}.",
            {"type": "object", "properties": {"query": {"type": "string"}}},
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what is looked for."""
        query = arguments.get("query", "")
        if not isinstance(query, str):
            raise ToolFailure("invalid_arguments", f"{FIND}: query is a text")
        said = f"find tools: {query[:80]}"
        return Prepared(FIND, {"query": query}, (), lambda context: self._find(query), said)

    def _find(self, query: str) -> ToolOutcome:
        wanted, named = query.lower().split(), query.split()
        found = [
            tool
            for name, tool in self._tools.items()
            if name in named or _has(f"{name} {tool.spec.description}".lower(), wanted)
        ]
        if not found:
            return plain(f"no tool has all of these words; the tools are:\n{_names(self._tools.values())}")
        if not wanted or len(found) > MOST_SHOWN:
            return plain(f"{len(found)} tools; more words show how they are called:\n{_names(found)}")
        rows = (f"{t.spec.name}: {t.spec.description}\narguments: {_schema(t)}" for t in found)
        return plain("\n\n".join(rows))


class CallTool:
    """Calls a tool by its name; implements `tools.base.Tool`."""

    parallel_safe = False
    replay: Replay = "never"

    def __init__(self, tools: Sequence[Known]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self.spec = ToolSpec(
            CALL,
            f"Call a tool that {FIND} found, with arguments as it says.",
            {
                "type": "object",
                "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["tool"],
            },
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """As the tool itself says, under its own name."""
        name, inner = arguments.get("tool"), arguments.get("arguments", {})
        if not isinstance(name, str) or name not in self._tools:
            raise ToolFailure("unknown_tool", f"there is no tool {str(name)[:80]!r}; {FIND} finds them")
        if not isinstance(inner, dict):
            raise ToolFailure("invalid_arguments", f"{CALL}: arguments is an object")
        # The arguments stay those of this call: it may be prepared again from them.
        return replace(self._tools[name].prepare(inner), arguments={"tool": name, "arguments": inner})


def on_demand(tools: Sequence[Known]) -> list[Tool]:
    """The two tools that stand for `tools`."""
    return [FindTool(tools), CallTool(tools)]


def _has(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def _names(tools: Iterable[Known]) -> str:
    return "\n".join(f"{t.spec.name}: {t.spec.description[:_CUT].partition(chr(10))[0]}" for t in tools)


def _schema(tool: Known) -> str:
    return ascii_json(tool.spec.parameters).decode()
