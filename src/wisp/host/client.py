"""What a front end holds: a way to send commands and to watch events, in process or across a pipe."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from wisp.host.commands import AnyCommand
from wisp.host.events import Envelope
from wisp.host.queries import Query
from wisp.host.showing import Shown
from wisp.host.slash import Reply, SlashCommand
from wisp.host.snapshot import Snapshot

if TYPE_CHECKING:
    from wisp.host.changes import FileChanged
    from wisp.host.screensettings import ScreenSettings
    from wisp.host.trusting import TrustCard
    from wisp.messages.message import Message
    from wisp.session.branches import Entry
    from wisp.session.catalog import SessionInfo


class OpenRequest(msgspec.Struct, frozen=True):
    """How a front end wants its host to be."""

    options: Mapping[str, Any] = {}
    """Settings given on the command line, by their names in the settings file."""
    interactive: bool = False
    """Somebody is there to be asked whether operations may run."""
    converses: bool = False
    """Somebody is there who types: questions of the model and about limits can be put."""
    cwd: str = ""
    """The folder to work in; empty for the process's own."""
    continue_: bool = False
    resume: str = ""
    fork: str = ""
    """`ID` or `ID@ENTRY`: begin a session that goes on from there."""
    session_id: str = ""
    """The id that a new session gets; empty for one that is made up."""
    opened: Literal["start", "again", "clear"] = "start"
    """`again`: the conversation only goes on with other settings.  `clear`: another takes its place."""
    no_session: bool = False
    yes: bool = False
    own_process: bool = False
    """The process is wisp's from start to end, so that it may be closed to debuggers and core dumps."""
    editor: bool = False
    """An editor started the process, perhaps with a shorter PATH than the person has in a shell."""
    trust: bool = False
    no_project: bool = False
    strict_config: bool = False
    output_schema: str = ""
    """A file with the JSON Schema that final answers must fit."""
    attach: tuple[str, ...] = ()
    """Files that go along with the first prompt."""
    buffers: Callable[[str], str | None] | None = None
    """From an absolute path to what the user's editor shows of that file, saved or not; None where it cannot
    say.  Called in threads of tools, and may block them."""
    record: str = ""
    replay: str = ""


class OpenFailed(Exception):
    """The host could not be built.

    Args:
        message: one sentence with the next step.
        exit_code: what the process should end with: 1, 2 or 3.
    """

    def __init__(self, message: str, exit_code: int = 3) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.output_format = ""
        """How the environment wants it told, where it says."""


class CommandRefused(Exception):
    """The host understood the command and cannot do it now; the message says why."""


class HostClient(Protocol):
    """One front end's connection to a host."""

    async def send(self, command: AnyCommand) -> None:
        """Have `command` done; returns when it was taken, not when what it started has ended.

        Raises:
            CommandRefused: it cannot be done now.
        """
        ...

    def snapshot(self) -> Snapshot:
        """The state at this moment; events seen afterwards come after it."""
        ...

    def events(self) -> AsyncGenerator[Envelope, None]:
        """Every event from now on; ends when the host closes.  Each call is a subscription of its own."""
        ...

    async def close(self) -> None:
        """Stop what runs, settle it, and let everything go."""
        ...


class Surroundings(Protocol):
    """What a screen shows around a conversation.  What cannot be found is empty, unless said otherwise."""

    async def files(self) -> list[str]:
        """Paths below the working folder, newest first."""
        ...

    async def messages(self, before: int, count: int) -> list[Message]:
        """Messages `before - count` to `before` of the conversation, counted from 0."""
        ...

    async def sessions(self, *, everywhere: bool = False) -> list[SessionInfo]:
        """Kept conversations, of this folder or of all, newest first."""
        ...

    async def last_messages(self, session_id: str, count: int) -> list[Message]:
        """The end of a kept conversation.

        Raises:
            LookupError: there is none with that id.
            OSError: it cannot be read.
        """
        ...

    async def tree(self) -> list[Entry]:
        """Every message of this conversation with its branches."""
        ...

    async def models(self) -> list[Mapping[str, Any]]:
        """Models that can be used here."""
        ...

    async def rename(self, session_id: str, name: str) -> None:
        """Give a kept conversation that is not open a name.

        Raises:
            CommandRefused: it cannot be done; says why.
        """
        ...

    async def fork(self, session_id: str) -> str:
        """Make a copy of a kept conversation from where it stands; its id.

        Raises:
            CommandRefused: it cannot be done; says why.
        """
        ...

    async def remove(self, session_id: str) -> None:
        """Throw a kept conversation that is not open away; it can be brought back for some days.

        Raises:
            CommandRefused: it cannot be done; says why.
        """
        ...

    async def restore(self, session_id: str) -> None:
        """Bring a conversation back that was thrown away.

        Raises:
            CommandRefused: it cannot be done; says why.
        """
        ...

    async def changes(self) -> list[FileChanged]:
        """The files that this conversation's runs changed and that were not put back.

        Raises:
            CommandRefused: they cannot be told; says why.
        """
        ...

    async def trust(self) -> TrustCard:
        """What there is to decide about the folder."""
        ...

    async def doctor(self) -> list[Mapping[str, str]]:
        """What works here: `name`, `status` and `detail` of each."""
        ...

    async def settings(self) -> list[Mapping[str, Any]]:
        """Every setting with `name`, `value` and `origin`."""
        ...

    async def prompts(self) -> list[str]:
        """What the person said here lately, oldest first."""
        ...

    async def dropped(self, text: str) -> list[str]:
        """The picture files that pasted `text` names, if it names nothing else."""
        ...

    async def picture(self) -> str:
        """A file with the picture that is in the clipboard; empty where there is none."""
        ...

    async def copy(self, text: Shown) -> str:
        """Put `text` into the display's clipboard; the program that took it, empty where none did."""
        ...

    def screen(self) -> ScreenSettings:
        """How the person wants the screen."""
        ...

    def editor(self) -> str:
        """The command of the person's editor."""
        ...

    def draft(self) -> str:
        """What was being written here last."""
        ...

    def keep_draft(self, text: str) -> None:
        """Keep what is being written."""
        ...


class ConversationClient(HostClient, Protocol):
    """A connection through which a person can also exchange what is behind it."""

    @property
    def around(self) -> Surroundings:
        """What a screen shows around the conversation."""
        ...

    def commands(self) -> list[SlashCommand]:
        """Everything that a line beginning with `/` can start."""
        ...

    async def slash(self, line: str) -> Reply:
        """Do what such a line says.

        Raises:
            CommandRefused: there is no such command, or it cannot be done now.
        """
        ...

    async def query(self, query: Query) -> Any:
        """The answer to `query`, of the type that `host.queries.ANSWERS` names.

        Raises:
            CommandRefused: there is none; says why.
        """
        ...
