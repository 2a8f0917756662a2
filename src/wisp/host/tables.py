"""Tables of the settings file about what is connected to Wisp: hooks, extensions, MCP servers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

EVENTS = (
    "PermissionRequest",
    "PostCompact",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "PreToolUse",
    "Notification",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
)
"""Those whose hooks are run."""
GUARDS = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit"})
"""Where a hook that is not what was approved blocks: a guard must not vanish by a change of its script."""


class Hook(msgspec.Struct, frozen=True, rename={"background": "async"}):
    """One command that is run at an event."""

    command: str
    type: Literal["command"] = "command"
    timeout: Annotated[float, msgspec.Meta(gt=0, le=86400)] | None = None
    """Seconds; 60 unless set."""
    args: tuple[str, ...] | None = None
    """Where given, `command` is a program that is started with these, without a shell."""
    background: bool = False
    """`async` in the file: nobody waits for it, and what it answers decides nothing."""
    of_project: bool = False
    """Set by Wisp for a project's hooks, whatever the file says."""
    files: dict[str, str] = {}
    """SHA-256 digests of files it runs, by path below the workspace; it is not run where one differs.  A
    project's hooks have those of the files they were approved with."""


class HookGroup(msgspec.Struct, frozen=True):
    """The hooks of one event, for some tools or kinds of the event."""

    hooks: tuple[Hook, ...] = ()
    matcher: str = ""
    """Whole names, with `|` between several, or a regular expression; empty or `*` for all."""


class ExtensionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[extensions.NAME]` table: Python code; without `path` or `module` an extension of Wisp's own."""

    path: str = ""
    """A file, relative to the settings file's folder or, in a project's settings, to the project."""
    module: str = ""
    """The name of a module that can be imported."""
    enabled: bool = True
    sha256: str = ""
    """The digest that the file must have; a project's extension has that of the approved one."""
    options: dict[str, Any] = {}
    """Whatever the extension wants to know."""


class McpOAuthSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[mcp_servers.NAME.oauth]` table, for servers that let no client register itself."""

    client_id: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()


class McpServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[mcp_servers.NAME]` table: a program to start, or an address."""

    command: str | tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    """All that the program sees besides a few harmless variables."""
    cwd: str = ""
    """The folder it starts in; the working directory unless set."""
    url: str = ""
    headers: dict[str, str] = {}
    type: Literal["", "stdio", "http", "streamable-http"] = ""
    sandbox: Literal["auto", "off"] = "auto"
    """`off`: outside of the sandbox of commands."""
    timeout: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 30.0
    """Seconds until its tools must be known."""
    call_timeout: Annotated[float, msgspec.Meta(gt=0, le=86400)] = 300.0
    """Seconds that one call may take."""
    enabled: bool = True
    tools: tuple[str, ...] | None = None
    """Patterns of the tools that are offered; all unless set."""
    disabled_tools: tuple[str, ...] = ()
    """Patterns of those that are not."""
    elicitation: bool = False
    """Whether it may put questions to the person at a conversation; never in a headless run."""
    oauth: McpOAuthSettings | None = None
