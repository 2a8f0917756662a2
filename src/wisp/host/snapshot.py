"""The state a front end starts from: what is configured, and where the conversation stands."""

from __future__ import annotations

import msgspec


class InstructionFile(msgspec.Struct, frozen=True):
    """One source of instructions and its size in bytes."""

    source: str
    size: int


class McpServer(msgspec.Struct, frozen=True):
    """One configured MCP server."""

    name: str
    status: str
    """`configured`, `known` (its tools were seen, it does not run), `started`, `used` or `failed`."""
    tools: int = 0
    error: str = ""
    origin: str = ""
    """Where it is configured."""


class Snapshot(msgspec.Struct, frozen=True):
    """Values only."""

    session_id: str
    session_path: str
    resumed: bool
    provider: str
    model: str
    tools: tuple[str, ...]
    cwd: str
    permission_mode: str
    sandbox: str
    """What is meant to box commands here: `bubblewrap`, `none`, or `off`.  Proven at the first command."""
    instructions: tuple[InstructionFile, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know before the first prompt: repairs, ignored settings."""
    messages: int = 0
    skills: tuple[str, ...] = ()
    """Names of skills and commands."""
    mcp_servers: tuple[McpServer, ...] = ()
    seq: int = 0
    """Number of the last event before this moment."""
    branch: str = ""
    """The branch that was checked out when the host was opened; empty outside git."""
    output_format: str = "text"
    """As configured, for front ends that have a choice."""
    effort: str = ""
    """How hard the model is told to think; empty for its default."""
