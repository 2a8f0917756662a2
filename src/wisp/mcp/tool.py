"""A server's tool as any other tool of wisp: an effect that is asked about, whatever the server says."""

from __future__ import annotations

from functools import partial
from typing import Any

from wisp.mcp.content import Keep, outcome_of
from wisp.mcp.definition import Definition, words
from wisp.mcp.server import Server
from wisp.messages.codec import ascii_json, clean
from wisp.messages.tool import Effect, Replay, ToolOutcome, ToolSpec
from wisp.tools.base import Prepared, RunContext

ALTERED = "its server describes it otherwise than when it was first seen"


class McpTool:
    """One tool of one server; implements `tools.base.Tool`.

    Args:
        name: what models call it.
        keep: where a long result is put.
    """

    parallel_safe = False
    replay: Replay = "never"

    def __init__(self, name: str, server: Server, definition: Definition, keep: Keep) -> None:
        self.server, self.definition, self._keep = server, definition, keep
        self.spec = ToolSpec(name, definition.description or definition.title, definition.schema)

    @property
    def identity(self) -> tuple[str, str]:
        """The same for the same tool, described in the same words."""
        return self.spec.name, self.definition.digest

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what would be called; the server decides whether the arguments are right."""
        name = self.spec.name
        effect = Effect(
            "ask",
            name,
            protected=ALTERED if self.server.altered(self.definition) else "",
            runs=f"{name}={self.definition.digest}",
        )
        shown = ascii_json(arguments).decode()
        return Prepared(
            tool=name,
            arguments=arguments,
            effects=(effect,),
            run=partial(self._run, arguments),
            summary=f"{self.server.plan.name}: {self.definition.name} {shown[:120]}",
            preview=self._preview(arguments),
            fingerprint=self.definition.digest,
            resources=(f"mcp:{self.server.plan.name}",),
        )

    def _preview(self, arguments: dict[str, Any]) -> str:
        lines = [f"tool {self.definition.name!r} of the MCP server {self.server.plan.name!r}"]
        lines += [f"{key}: {_shown(value)}" for key, value in arguments.items()]
        if self.server.altered(self.definition):
            lines += [f"{ALTERED}. It now says:", self.definition.description]
        hints = [key for key, value in self.definition.advice.items() if value]
        if hints:
            lines.append(f"(the server says of it: {words(', '.join(hints), 200)})")
        return "\n".join(lines)

    async def _run(self, arguments: dict[str, Any], context: RunContext) -> ToolOutcome:
        self.server.agree(self.definition)

        def progress(done: float, total: float | None, said: str) -> None:
            of = f" of {total:g}" if total is not None else ""
            context.progress(f"{done:g}{of} {words(said, 200)}".rstrip() + "\n")

        result = await self.server.call(self.definition.name, arguments, progress)
        return outcome_of(result, self._keep, self.definition.output)


def _shown(value: Any) -> str:
    return clean(value) if isinstance(value, str) else ascii_json(value).decode()
