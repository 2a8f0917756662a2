"""A server's resources, behind one small tool: list them, or read one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from wisp.mcp.content import PICTURES, Keep, outcome_of
from wisp.mcp.definition import words
from wisp.mcp.server import Server
from wisp.messages.tool import Effect, Replay, ToolFailure, ToolOutcome, ToolSpec
from wisp.tools.base import Prepared, RunContext

OWN_NAME = "resource"
"""What it is called among a server's tools, unless that has one of the name."""
MOST_LISTED = 200
_SCHEMA = {
    "type": "object",
    "properties": {"uri": {"type": "string", "description": "Which to read; none lists them"}},
}


class ResourceTool:
    """Lists and reads the resources of one server; implements `tools.base.Tool`.

    Args:
        name: what models call it.
        keep: where a long resource is put.
    """

    parallel_safe = False
    replay: Replay = "never"

    def __init__(self, name: str, server: Server, keep: Keep) -> None:
        self.server, self._keep = server, keep
        what = f"Resources of the MCP server {server.plan.name}: their list, or with a uri its contents."
        self.spec = ToolSpec(name, what, _SCHEMA)

    @property
    def identity(self) -> tuple[str, str]:
        """The same for the same server."""
        return self.spec.name, ""

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what would be asked for."""
        uri = arguments.get("uri", "")
        if not isinstance(uri, str) or arguments.keys() - {"uri"}:
            raise ToolFailure("invalid_arguments", f"{self.spec.name} takes a uri, or nothing")
        what = f"read {words(uri, 200)}" if uri else "list resources"
        return Prepared(
            tool=self.spec.name,
            arguments=arguments,
            effects=(Effect("ask", self.spec.name),),
            run=partial(self._run, uri),
            summary=f"{self.server.plan.name}: {what}",
            preview=f"{what}, of the MCP server {self.server.plan.name!r}",
            resources=(f"mcp:{self.server.plan.name}",),
        )

    async def _run(self, uri: str, context: RunContext) -> ToolOutcome:
        if uri:
            found = await self.server.ask("resources/read", {"uri": uri})
            contents = found.get("contents")
            parts = (
                [_block(one) for one in contents if isinstance(one, dict)]
                if isinstance(contents, list)
                else []
            )
            return outcome_of({"content": parts}, self._keep)
        rows: list[str] = []
        for method, key, by in (
            ("resources/list", "resources", "uri"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate"),
        ):
            rows += [_row(item, by) for item in await self.server.listed_of(method, key, MOST_LISTED)]
        return outcome_of({"content": [{"type": "text", "text": "\n".join(rows) or "none"}]}, self._keep)


def _block(resource: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a result: a picture where it is one, else the resource as it came."""
    if resource.get("mimeType") in PICTURES and isinstance(resource.get("blob"), str):
        return {"type": "image", "mimeType": resource["mimeType"], "data": resource["blob"]}
    return {"type": "resource", "resource": resource}


def _row(item: Any, by: str) -> str:
    known = item if isinstance(item, dict) else {}
    said = [words(known.get(key), 200) for key in ("name", "description", "mimeType")]
    return f"{words(known.get(by), 500)}  {', '.join(filter(None, said))}"
