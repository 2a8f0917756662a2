"""Wisp: a coding agent for the terminal, and a library for building with it.

Names resolve on first use, so that `import wisp` costs nothing; see `docs/guide/python.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wisp._version import __version__

if TYPE_CHECKING:
    from wisp.agent import Agent, AgentError
    from wisp.host.events import (
        AgentCompleted,
        Event,
        MessageCompleted,
        MessageDelta,
        ToolApprovalRequested,
        ToolExecutionEnded,
        TurnCompleted,
    )
    from wisp.messages.tool import Effect, ToolFailure, ToolOutcome, ToolSpec
    from wisp.providers.scripted import ScriptedProvider, ScriptStep
    from wisp.tools.base import Prepared, RunContext, Tool
    from wisp.tools.functions import FunctionTool, tool

_HOMES = {
    "Agent": "wisp.agent",
    "AgentCompleted": "wisp.host.events",
    "AgentError": "wisp.agent",
    "Effect": "wisp.messages.tool",
    "Event": "wisp.host.events",
    "FunctionTool": "wisp.tools.functions",
    "MessageCompleted": "wisp.host.events",
    "MessageDelta": "wisp.host.events",
    "Prepared": "wisp.tools.base",
    "RunContext": "wisp.tools.base",
    "ScriptStep": "wisp.providers.scripted",
    "ScriptedProvider": "wisp.providers.scripted",
    "Tool": "wisp.tools.base",
    "ToolApprovalRequested": "wisp.host.events",
    "ToolExecutionEnded": "wisp.host.events",
    "ToolFailure": "wisp.messages.tool",
    "ToolOutcome": "wisp.messages.tool",
    "ToolSpec": "wisp.messages.tool",
    "TurnCompleted": "wisp.host.events",
    "tool": "wisp.tools.functions",
}

__all__ = [
    "Agent",
    "AgentCompleted",
    "AgentError",
    "Effect",
    "Event",
    "FunctionTool",
    "MessageCompleted",
    "MessageDelta",
    "Prepared",
    "RunContext",
    "ScriptStep",
    "ScriptedProvider",
    "Tool",
    "ToolApprovalRequested",
    "ToolExecutionEnded",
    "ToolFailure",
    "ToolOutcome",
    "ToolSpec",
    "TurnCompleted",
    "__version__",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wisp' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
