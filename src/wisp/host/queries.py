"""What a front end can ask of the host and gets an answer to, as data: the other half of `host.commands`.

They are answered during a run too, but for those that touch files.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wisp.harness.events import QueueUpdated
from wisp.host.events import ContextEstimated
from wisp.host.slash import Reply, SlashCommand
from wisp.host.snapshot import McpServer, Snapshot
from wisp.host.view import View
from wisp.messages.message import Message
from wisp.messages.usage import Usage
from wisp.session.branches import Entry
from wisp.session.catalog import SessionInfo

MOST = 1000
"""Most messages, entries or sessions in one answer."""


class Query(msgspec.Struct, frozen=True, tag_field="type"):
    """The base of all queries; `type` on the wire is the class's tag."""


class State(msgspec.Struct, frozen=True):
    """Where the conversation stands."""

    snapshot: Snapshot
    view: View
    """What a front end would show now; events seen afterwards come after it."""
    running: bool
    queue: QueueUpdated


class GetState(Query, frozen=True, tag="get_state"):
    """Where the conversation stands: answered by `State`."""


class GetCommands(Query, frozen=True, tag="get_commands"):
    """Everything that a line beginning with `/` can start."""


class MessagePage(msgspec.Struct, frozen=True):
    """Some messages of the conversation, in order."""

    messages: tuple[Message, ...]
    before: str
    """To be given as `before` for the page that comes before; empty where there is none."""
    total: int


class GetMessages(Query, frozen=True, tag="get_messages"):
    """The last messages of the conversation, or the last before one: answered by `MessagePage`."""

    before: str = ""
    """A message's id."""
    limit: int = 100
    """At most `MOST`."""


class Stats(msgspec.Struct, frozen=True):
    """What the session used."""

    turns: int
    messages: int
    usage: Usage
    cost_usd: float | None
    """None when a price is unknown."""
    text: str
    """The same for a person, with what is left where there are limits."""


class GetStats(Query, frozen=True, tag="get_stats"):
    """What the session used: answered by `Stats`."""


class Skills(msgspec.Struct, frozen=True):
    """Skills and commands that can be used here."""

    skills: tuple[dict[str, str], ...]
    notes: tuple[str, ...]
    """What was odd about any."""


class Servers(msgspec.Struct, frozen=True):
    """The MCP servers as they are, and the names of the tools of theirs that are offered."""

    servers: tuple[McpServer, ...]
    tools: tuple[str, ...]


class GetMcp(Query, frozen=True, tag="get_mcp"):
    """The MCP servers as they are: answered by `Servers`."""


class GetSkills(Query, frozen=True, tag="get_skills"):
    """Skills and commands that can be used here: answered by `Skills`."""


class GetModels(Query, frozen=True, tag="get_models"):
    """The models that can be used; with `words` or `all` of every known vendor."""

    words: str = ""
    all: bool = False


class Permissions(msgspec.Struct, frozen=True):
    """How calls are judged."""

    mode: str
    deny: tuple[str, ...]
    allow: tuple[str, ...]
    granted: tuple[str, ...]
    """Rules that a person added during this session."""


class GetPermissions(Query, frozen=True, tag="get_permissions"):
    """How calls are judged: answered by `Permissions`."""


class GetContext(Query, frozen=True, tag="get_context"):
    """What takes the space of the next request."""


class GetQueue(Query, frozen=True, tag="queue.get"):
    """What waits to be said, with the revision that a change of it can name."""


class ListSessions(Query, frozen=True, tag="session.list"):
    """Stored conversations, newest first."""

    text: str = ""
    """Only those in which this was said."""
    everywhere: bool = False
    """Of all folders instead of this one."""
    limit: int = 100


class Tree(msgspec.Struct, frozen=True):
    """A part of the tree."""

    entries: tuple[Entry, ...]
    total: int


class GetTree(Query, frozen=True, tag="session.tree"):
    """The messages with their branches, in reading order: answered by `Tree`."""

    after: int = 0
    """How many to leave out at the beginning."""
    limit: int = 200


class PathChange(msgspec.Struct, frozen=True):
    """One path that an undo or redo changes."""

    path: str
    what: str
    """`made`, `changed` or `deleted`, as the undo does it."""


class FilesMoved(msgspec.Struct, frozen=True):
    """What an undo or redo did, or would do."""

    changes: tuple[PathChange, ...]
    applied: bool


class FileChanges(Query, frozen=True, tag="files.changes"):
    """What an undo would change: answered by `FilesMoved`; none while a run is in progress."""


class UndoFiles(Query, frozen=True, tag="files.undo"):
    """Put files back to before the last run: answered by `FilesMoved`; not during a run."""

    chat: bool = False
    """Take the conversation back too."""
    one_turn: bool = False


class RedoFiles(Query, frozen=True, tag="files.redo"):
    """Undo the last undo: answered by `FilesMoved`; not during a run."""

    one_turn: bool = False


class Said(msgspec.Struct, frozen=True):
    """A sentence for a person."""

    text: str


class StoreKey(Query, frozen=True, tag="credentials.store"):
    """Keep a provider's key; no query ever gives one back."""

    provider: str
    key: str
    keyring: bool = False


class Disconnect(Query, frozen=True, tag="credentials.disconnect"):
    """Forget what is stored for a provider."""

    provider: str


class BeginDeviceCode(Query, frozen=True, tag="credentials.begin_device_code"):
    """Log in by agreeing on any machine; what to open there is told by `credentials.shown`, and this is
    answered once it is agreed to."""

    provider: str


class Slash(Query, frozen=True, tag="slash"):
    """Do what a line that begins with `/` says."""

    line: str


AnyQuery = (
    BeginDeviceCode
    | Disconnect
    | FileChanges
    | GetCommands
    | GetContext
    | GetMessages
    | GetModels
    | GetPermissions
    | GetQueue
    | GetMcp
    | GetSkills
    | GetState
    | GetStats
    | GetTree
    | ListSessions
    | RedoFiles
    | Slash
    | StoreKey
    | UndoFiles
)

ANSWERS: dict[type[Query], Any] = {
    BeginDeviceCode: Said,
    Disconnect: Said,
    FileChanges: FilesMoved,
    GetCommands: tuple[SlashCommand, ...],
    GetContext: ContextEstimated,
    GetMessages: MessagePage,
    GetModels: tuple[dict[str, Any], ...],
    GetPermissions: Permissions,
    GetQueue: QueueUpdated,
    GetMcp: Servers,
    GetSkills: Skills,
    GetState: State,
    GetStats: Stats,
    GetTree: Tree,
    ListSessions: tuple[SessionInfo, ...],
    RedoFiles: FilesMoved,
    Slash: Reply,
    StoreKey: Said,
    UndoFiles: FilesMoved,
}
"""The type of each answer."""
