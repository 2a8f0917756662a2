"""What an extension of Wisp is written with; see `docs/guide/extensions.md`.

from wisp.extensions import Registry

def extend(wisp: Registry) -> None:
    wisp.tool(lines_of)
    wisp.command("hello", lambda typed: f"hello {typed}")

"""

from __future__ import annotations

from wisp.host.registry import API, Registry, Say
from wisp.messages.tool import Effect, ToolFailure, ToolOutcome, ToolSpec
from wisp.providers.base import ModelInfo, ModelRequest, Provider
from wisp.tools.base import Prepared, RunContext, Tool
from wisp.tools.functions import tool

__all__ = [
    "API",
    "Effect",
    "ModelInfo",
    "ModelRequest",
    "Prepared",
    "Provider",
    "Registry",
    "RunContext",
    "Say",
    "Tool",
    "ToolFailure",
    "ToolOutcome",
    "ToolSpec",
    "tool",
]
