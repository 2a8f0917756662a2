"""The values of the protocol: what comes in, what goes out.  Spelt in camel case on the wire.

Fields that are not known are passed over, as the protocol wants; what is optional and empty is left out.
Specification: the Agent Client Protocol, version 1 (schema 1.19).
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wisp.host.showing import Shown

VERSION = 1


class Wire(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The base of everything here."""


# -- content ----------------------------------------------------------------------------------------------


class TextContent(Wire, frozen=True, tag_field="type", tag="text"):
    text: str


class ShownText(Wire, frozen=True, tag_field="type", tag="text"):
    """The same on its way to a person, who may sit at a terminal."""

    text: Shown


class ImageContent(Wire, frozen=True, tag_field="type", tag="image"):
    mime_type: str
    data: str


class AudioContent(Wire, frozen=True, tag_field="type", tag="audio"):
    mime_type: str
    data: str


class ResourceLink(Wire, frozen=True, tag_field="type", tag="resource_link"):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None


class ResourceContents(Wire, frozen=True):
    """Text or bytes (as base64), whichever is there."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None


class Resource(Wire, frozen=True, tag_field="type", tag="resource"):
    resource: ResourceContents


Content = TextContent | ImageContent | AudioContent | ResourceLink | Resource


# -- requests of the client -------------------------------------------------------------------------------


class ClientAuth(Wire, frozen=True):
    terminal: bool | None = None


class ClientElicitation(Wire, frozen=True):
    form: dict[str, Any] | None = None


class ClientFiles(Wire, frozen=True):
    read_text_file: bool | None = None


class FileContent(Wire, frozen=True):
    """The answer to `fs/read_text_file`."""

    content: str


class ClientCapabilities(Wire, frozen=True):
    """Those that are of use here."""

    auth: ClientAuth | None = None
    fs: ClientFiles | None = None
    elicitation: ClientElicitation | None = None


class Pair(Wire, frozen=True):
    name: str
    value: str


class McpServer(Wire, frozen=True):
    """A server that the client wants used: a program, or with `type` an address."""

    name: str
    type: str = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Pair, ...] = ()
    url: str = ""
    headers: tuple[Pair, ...] = ()


class Initialize(Wire, frozen=True):
    protocol_version: int
    client_capabilities: ClientCapabilities | None = None


class Authenticate(Wire, frozen=True):
    method_id: str


class NewSession(Wire, frozen=True):
    cwd: str
    mcp_servers: tuple[McpServer, ...] | None = None
    additional_directories: tuple[str, ...] | None = None


class OldSession(Wire, frozen=True):
    """`session/load`, `session/resume` and `session/fork`."""

    session_id: str
    cwd: str
    mcp_servers: tuple[McpServer, ...] | None = None
    additional_directories: tuple[str, ...] | None = None


class OneSession(Wire, frozen=True):
    """`session/close`, `session/delete` and `session/cancel`."""

    session_id: str


class ListSessions(Wire, frozen=True):
    cwd: str | None = None
    cursor: str | None = None


class PromptRequest(Wire, frozen=True):
    session_id: str
    prompt: tuple[Content, ...]


class SetMode(Wire, frozen=True):
    session_id: str
    mode_id: str


class SetOption(Wire, frozen=True):
    session_id: str
    config_id: str
    value: str


# -- what a client answers --------------------------------------------------------------------------------


class Outcome(Wire, frozen=True):
    outcome: Literal["selected", "cancelled"]
    option_id: str = ""


class PermissionAnswer(Wire, frozen=True):
    outcome: Outcome


class ElicitationAnswer(Wire, frozen=True):
    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


# -- tool calls -------------------------------------------------------------------------------------------

Kind = Literal["read", "edit", "search", "execute", "think", "other"]
Status = Literal["pending", "in_progress", "completed", "failed"]


class Location(Wire, frozen=True):
    path: str
    line: int | None = None


class InCall(Wire, frozen=True, tag_field="type", tag="content"):
    content: ShownText | ImageContent


class FileDiff(Wire, frozen=True, tag_field="type", tag="diff"):
    path: str
    new_text: str
    old_text: str | None = None
    """None for a file that did not exist."""


CallContent = InCall | FileDiff


class CallFields(Wire, frozen=True):
    """What is said of a call; what is left out stays as it was."""

    tool_call_id: str
    title: Shown | None = None
    kind: Kind | None = None
    status: Status | None = None
    content: tuple[CallContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


# -- updates ----------------------------------------------------------------------------------------------

_UPDATE = "sessionUpdate"


class Chunk(Wire, frozen=True):
    """A piece of a message."""

    content: ShownText | ImageContent
    message_id: str | None = None


class UserChunk(Chunk, frozen=True, tag_field=_UPDATE, tag="user_message_chunk"):
    pass


class AgentChunk(Chunk, frozen=True, tag_field=_UPDATE, tag="agent_message_chunk"):
    pass


class ThoughtChunk(Chunk, frozen=True, tag_field=_UPDATE, tag="agent_thought_chunk"):
    pass


class CallStarted(CallFields, frozen=True, tag_field=_UPDATE, tag="tool_call"):
    pass


class CallUpdated(CallFields, frozen=True, tag_field=_UPDATE, tag="tool_call_update"):
    pass


class PlanEntry(Wire, frozen=True):
    content: Shown
    status: Literal["pending", "in_progress", "completed"]
    priority: Literal["high", "medium", "low"]


class PlanUpdate(Wire, frozen=True, tag_field=_UPDATE, tag="plan"):
    entries: tuple[PlanEntry, ...]


class CommandInput(Wire, frozen=True):
    hint: Shown


class AvailableCommand(Wire, frozen=True):
    name: str
    description: Shown
    input: CommandInput | None = None


class CommandsUpdate(Wire, frozen=True, tag_field=_UPDATE, tag="available_commands_update"):
    available_commands: tuple[AvailableCommand, ...]


class ModeUpdate(Wire, frozen=True, tag_field=_UPDATE, tag="current_mode_update"):
    current_mode_id: str


class InfoUpdate(Wire, frozen=True, tag_field=_UPDATE, tag="session_info_update"):
    title: Shown | None = None
    updated_at: str | None = None


class Cost(Wire, frozen=True):
    amount: float
    currency: str


class UsageUpdate(Wire, frozen=True, tag_field=_UPDATE, tag="usage_update"):
    used: int
    size: int
    cost: Cost | None = None


class OptionValue(Wire, frozen=True):
    value: str
    name: Shown
    description: Shown | None = None


class ConfigOption(Wire, frozen=True, tag_field="type", tag="select"):
    id: str
    name: str
    category: str
    current_value: str
    options: tuple[OptionValue, ...]
    description: str | None = None


class OptionsUpdate(Wire, frozen=True, tag_field=_UPDATE, tag="config_option_update"):
    config_options: tuple[ConfigOption, ...]


Update = (
    UserChunk
    | AgentChunk
    | ThoughtChunk
    | CallStarted
    | CallUpdated
    | PlanUpdate
    | CommandsUpdate
    | ModeUpdate
    | InfoUpdate
    | UsageUpdate
    | OptionsUpdate
)


# -- results ----------------------------------------------------------------------------------------------


class Mode(Wire, frozen=True):
    id: str
    name: str
    description: str


class Modes(Wire, frozen=True):
    current_mode_id: str
    available_modes: tuple[Mode, ...]


class SessionState(Wire, frozen=True):
    """The result of `session/new`, `load`, `resume` and `fork`."""

    session_id: str | None = None
    modes: Modes | None = None
    config_options: tuple[ConfigOption, ...] | None = None


class SessionRow(Wire, frozen=True):
    session_id: str
    cwd: str
    title: Shown | None = None
    updated_at: str | None = None


class SessionList(Wire, frozen=True, omit_defaults=False):
    sessions: tuple[SessionRow, ...]
    next_cursor: str | None = None


class UsedTokens(Wire, frozen=True):
    total_tokens: int
    input_tokens: int
    output_tokens: int
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class PromptResult(Wire, frozen=True):
    stop_reason: StopReason
    usage: UsedTokens | None = None


class PermissionChoice(Wire, frozen=True):
    option_id: str
    name: Shown
    kind: Literal["allow_once", "allow_always", "reject_once"]


class PermissionRequest(Wire, frozen=True):
    session_id: str
    tool_call: CallFields
    options: tuple[PermissionChoice, ...]
