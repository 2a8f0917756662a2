"""Wisp: a coding agent for the terminal, and a library for building with it.

Names resolve on first use, so that `import wisp` costs nothing; see `docs/guide/sdk.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wisp._version import __version__

if TYPE_CHECKING:
    from wisp.agent import Agent, AgentError
    from wisp.harness.ports import ApprovalAnswer
    from wisp.host.events import (
        AgentCompleted,
        AgentStarted,
        AnswerChecked,
        CacheBroken,
        CompactionCompleted,
        CompactionStarted,
        ContextEstimated,
        ContextOverflow,
        ContextPressure,
        ErrorReported,
        Event,
        MessageCompleted,
        MessageDelta,
        MessageStarted,
        MessageWithdrawn,
        PlanSaved,
        ProcessEnded,
        ProviderRetrying,
        ProviderSwitched,
        QuestionAnswered,
        QuestionAsked,
        QueueMessageInjected,
        QueueUpdated,
        RepairReported,
        SessionOpened,
        SessionSaved,
        SubagentReported,
        ToolApprovalRequested,
        ToolApprovalResolved,
        ToolCalled,
        ToolExecutionEnded,
        ToolExecutionProgress,
        ToolExecutionStarted,
        ToolResultAdded,
        TrustRequested,
        TrustResolved,
        TurnCompleted,
        TurnStarted,
    )
    from wisp.host.view import PermissionDenial, RunView
    from wisp.loop.boundary import At, Boundary, Decision, Rebase
    from wisp.messages.content import Image, Text, Thinking, ToolCall
    from wisp.messages.message import AssistantMessage, Message, ToolResult, UserMessage
    from wisp.messages.tool import Effect, ToolFailure, ToolOutcome, ToolSpec
    from wisp.messages.usage import Price, Usage
    from wisp.providers.base import ModelInfo, ModelRequest, Provider
    from wisp.providers.events import ProviderEvent
    from wisp.providers.scripted import ScriptedProvider, ScriptStep
    from wisp.tools.base import Prepared, RunContext, Tool
    from wisp.tools.functions import FunctionTool, tool

_HOMES = {
    "Agent": "wisp.agent",
    "AgentCompleted": "wisp.host.events",
    "AgentError": "wisp.agent",
    "AgentStarted": "wisp.host.events",
    "AnswerChecked": "wisp.host.events",
    "ApprovalAnswer": "wisp.harness.ports",
    "AssistantMessage": "wisp.messages.message",
    "At": "wisp.loop.boundary",
    "Boundary": "wisp.loop.boundary",
    "CacheBroken": "wisp.host.events",
    "CompactionCompleted": "wisp.host.events",
    "CompactionStarted": "wisp.host.events",
    "ContextEstimated": "wisp.host.events",
    "ContextOverflow": "wisp.host.events",
    "ContextPressure": "wisp.host.events",
    "Decision": "wisp.loop.boundary",
    "Effect": "wisp.messages.tool",
    "ErrorReported": "wisp.host.events",
    "Event": "wisp.host.events",
    "FunctionTool": "wisp.tools.functions",
    "Image": "wisp.messages.content",
    "Message": "wisp.messages.message",
    "MessageCompleted": "wisp.host.events",
    "MessageDelta": "wisp.host.events",
    "MessageStarted": "wisp.host.events",
    "MessageWithdrawn": "wisp.host.events",
    "ModelInfo": "wisp.providers.base",
    "ModelRequest": "wisp.providers.base",
    "PermissionDenial": "wisp.host.view",
    "PlanSaved": "wisp.host.events",
    "Prepared": "wisp.tools.base",
    "Price": "wisp.messages.usage",
    "ProcessEnded": "wisp.host.events",
    "Provider": "wisp.providers.base",
    "ProviderEvent": "wisp.providers.events",
    "ProviderRetrying": "wisp.host.events",
    "ProviderSwitched": "wisp.host.events",
    "QuestionAnswered": "wisp.host.events",
    "QuestionAsked": "wisp.host.events",
    "QueueMessageInjected": "wisp.host.events",
    "QueueUpdated": "wisp.host.events",
    "Rebase": "wisp.loop.boundary",
    "RepairReported": "wisp.host.events",
    "RunContext": "wisp.tools.base",
    "RunView": "wisp.host.view",
    "ScriptStep": "wisp.providers.scripted",
    "ScriptedProvider": "wisp.providers.scripted",
    "SessionOpened": "wisp.host.events",
    "SessionSaved": "wisp.host.events",
    "SubagentReported": "wisp.host.events",
    "Text": "wisp.messages.content",
    "Thinking": "wisp.messages.content",
    "Tool": "wisp.tools.base",
    "ToolApprovalRequested": "wisp.host.events",
    "ToolApprovalResolved": "wisp.host.events",
    "ToolCall": "wisp.messages.content",
    "ToolCalled": "wisp.host.events",
    "ToolExecutionEnded": "wisp.host.events",
    "ToolExecutionProgress": "wisp.host.events",
    "ToolExecutionStarted": "wisp.host.events",
    "ToolFailure": "wisp.messages.tool",
    "ToolOutcome": "wisp.messages.tool",
    "ToolResult": "wisp.messages.message",
    "ToolResultAdded": "wisp.host.events",
    "TrustRequested": "wisp.host.events",
    "TrustResolved": "wisp.host.events",
    "ToolSpec": "wisp.messages.tool",
    "TurnCompleted": "wisp.host.events",
    "TurnStarted": "wisp.host.events",
    "Usage": "wisp.messages.usage",
    "UserMessage": "wisp.messages.message",
    "tool": "wisp.tools.functions",
}

__all__ = [
    "Agent",
    "AgentCompleted",
    "AgentError",
    "AgentStarted",
    "AnswerChecked",
    "ApprovalAnswer",
    "AssistantMessage",
    "At",
    "Boundary",
    "CacheBroken",
    "CompactionCompleted",
    "CompactionStarted",
    "ContextEstimated",
    "ContextOverflow",
    "ContextPressure",
    "Decision",
    "Effect",
    "ErrorReported",
    "Event",
    "FunctionTool",
    "Image",
    "Message",
    "MessageCompleted",
    "MessageDelta",
    "MessageStarted",
    "MessageWithdrawn",
    "ModelInfo",
    "ModelRequest",
    "PermissionDenial",
    "PlanSaved",
    "Prepared",
    "Price",
    "ProcessEnded",
    "Provider",
    "ProviderEvent",
    "ProviderRetrying",
    "ProviderSwitched",
    "QuestionAnswered",
    "QuestionAsked",
    "QueueMessageInjected",
    "QueueUpdated",
    "Rebase",
    "RepairReported",
    "RunContext",
    "RunView",
    "ScriptStep",
    "ScriptedProvider",
    "SessionOpened",
    "SessionSaved",
    "SubagentReported",
    "Text",
    "Thinking",
    "Tool",
    "ToolApprovalRequested",
    "ToolApprovalResolved",
    "ToolCall",
    "ToolCalled",
    "ToolExecutionEnded",
    "ToolExecutionProgress",
    "ToolExecutionStarted",
    "ToolFailure",
    "ToolOutcome",
    "ToolResult",
    "ToolResultAdded",
    "ToolSpec",
    "TrustRequested",
    "TrustResolved",
    "TurnCompleted",
    "TurnStarted",
    "Usage",
    "UserMessage",
    "__version__",
    "tool",
]

if not TYPE_CHECKING:  # else every name, also a misspelt one, would be there for type checkers

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
