"""What a front end can ask of the host, as data.  Values only, so that they can cross a pipe."""

from __future__ import annotations

from typing import Literal

import msgspec

from wisp.harness.events import Scope
from wisp.messages.content import Image


class Command(msgspec.Struct, frozen=True, tag_field="type"):
    """The base of all commands; `type` on the wire is the class's tag."""


class Prompt(Command, frozen=True, tag="prompt"):
    """Start a run, or, while one is in progress, refuse."""

    text: str
    images: tuple[Image, ...] = ()
    """Pictures that belong to it, in order."""
    attach: tuple[str, ...] = ()
    """Files that go along, wherever they are; refused where one cannot be read."""
    mentioned: tuple[str, ...] = ()
    """Files that the text names (`host.mentions`); those go along that are there and may be read unasked."""


class Steer(Command, frozen=True, tag="steer"):
    """Say something at the next request boundary."""

    text: str


class FollowUp(Command, frozen=True, tag="follow_up"):
    """Say something when the run would stop."""

    text: str


class Cancel(Command, frozen=True, tag="cancel"):
    """Stop the run in progress, or only the calls that run: the model is told, and the run goes on."""

    reason: str = "the user interrupted"
    scope: Literal["run", "calls"] = "run"


class Detach(Command, frozen=True, tag="detach"):
    """Wait no longer for the command that runs: it goes on in the background, and the run with it."""


class Shell(Command, frozen=True, tag="shell"):
    """Run a command as the person at the front end, between runs; one that policy denies does not run."""

    command: str
    told: bool = True
    """Whether the model is told of it, with the next message."""


class Approve(Command, frozen=True, tag="approve"):
    """Answer an approval request; refused, and the request waits on, where it is an answer to another one."""

    call_id: str
    digest: str
    """The one of the request: what is allowed is what was shown."""
    approved: bool
    scope: Scope = "once"
    """`session` only where the request has a `session_rule`, which is then allowed."""
    reason: str = ""
    parts: tuple[int, ...] | None = None
    """Allow only these hunks of what was shown, counted from 0; None for all."""
    arguments: str = ""
    """A JSON object: allow the call with these arguments instead; judged again, asked only where needed."""


class Configure(Command, frozen=True, tag="configure"):
    """Change how the next calls are judged and who answers; None leaves a value as it is.

    Another provider, model or effort is taken between runs only; an empty one goes back to the default.
    """

    permission_mode: str | None = None
    provider: str | None = None
    model: str | None = None
    """An id, or `provider/id`."""
    effort: str | None = None


class Answer(Command, frozen=True, tag="answer"):
    """Answer a question."""

    question_id: str
    text: str


class QueueEdit(Command, frozen=True, tag="queue.edit"):
    """Give a waiting message other words; refused where the queue is not at `revision` any more."""

    id: str
    text: str
    revision: int | None = None


class QueuePop(Command, frozen=True, tag="queue.pop"):
    """Take a waiting message back: that one, or the newest; told by `queue.updated`."""

    id: str = ""
    revision: int | None = None


class QueueClear(Command, frozen=True, tag="queue.clear"):
    """Take all waiting messages back."""

    revision: int | None = None


class QueueSetMode(Command, frozen=True, tag="queue.set_mode"):
    """Deliver all waiting messages of a queue at once, or one at a boundary."""

    queue: Literal["steering", "follow_up"]
    mode: Literal["one_at_a_time", "all"]
    revision: int | None = None


QueueCommand = QueueEdit | QueuePop | QueueClear | QueueSetMode


class Compact(Command, frozen=True, tag="compact"):
    """Shorten the conversation before the next request."""

    instructions: str = ""


class ShowContext(Command, frozen=True, tag="context"):
    """Tell, as `context.estimated`, what takes the space of the next request."""


class Navigate(Command, frozen=True, tag="session.navigate"):
    """Go on from another message of the session, between runs."""

    entry: str
    """Its id, the beginning of that, its label, or its number."""
    summarise: bool = False
    """Have the branch that is left told in short where the conversation goes on."""


class UndoNavigation(Command, frozen=True, tag="session.undo_navigation"):
    """Take the last `Navigate` back."""


class Name(Command, frozen=True, tag="session.name"):
    """Give the session a name; an empty one takes it back."""

    name: str


class NewSession(Command, frozen=True, tag="session.new"):
    """Begin another conversation, between runs; this one is kept."""


class SelectSession(Command, frozen=True, tag="session.select"):
    """Go on with another stored conversation, between runs."""

    id: str
    """The beginning of its id."""


class CloneSession(Command, frozen=True, tag="session.clone"):
    """Go on in a copy of this conversation, between runs."""


class ForkSession(Command, frozen=True, tag="session.fork"):
    """Go on in a copy up to one message, between runs."""

    entry: str = ""
    """As in `Navigate`; empty for where the conversation stands."""


class Trust(Command, frozen=True, tag="trust"):
    """Decide whether the files of this folder are read, and go on with what that makes of it."""

    action: Literal["allow", "revoke", "forget"]


SessionCommand = NewSession | SelectSession | CloneSession | ForkSession | Trust
"""Those that exchange the conversation behind a connection."""

AnyCommand = (
    Answer
    | Approve
    | Cancel
    | Compact
    | Configure
    | Detach
    | FollowUp
    | Name
    | Navigate
    | Prompt
    | QueueCommand
    | SessionCommand
    | Shell
    | ShowContext
    | Steer
    | UndoNavigation
)
