"""The commands of a conversation as data: the same list for every front end.

What each does is in `host.conversation`; front ends show the list and the replies.  A command that is not
built yet does not stand here.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class SlashCommand(msgspec.Struct, frozen=True):
    """One command, as it is typed after `/`."""

    name: str
    help: str
    arguments: str = ""
    """What may follow, for people; empty for nothing."""
    when: Literal["idle", "any"] = "idle"
    """`any`: also while a run is in progress."""
    aliases: tuple[str, ...] = ()
    kind: Literal["built-in", "skill", "command"] = "built-in"


class Reply(msgspec.Struct, frozen=True):
    """What came of a command."""

    text: str = ""
    """For the person."""
    leave: bool = False
    """The person wants to leave."""
    copy: str = ""
    """Text for the clipboard."""
    started: bool = False
    """A run was started."""


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("help", "this list", when="any", aliases=("?",)),
    SlashCommand("later", "say something when the run would stop", "TEXT", when="any"),
    SlashCommand(
        "queue",
        "what waits to be said; give it other words, take it back, or say one message at a time",
        "[edit N TEXT | drop N | clear | one | all]",
        when="any",
    ),
    SlashCommand("stop", "stop the run; what waits goes on waiting", when="any"),
    SlashCommand("detach", "let the command that runs go on in the background", when="any"),
    SlashCommand("model", "show or change the model", "[ID or PROVIDER/ID]"),
    SlashCommand("provider", "show or change the provider", "[NAME]"),
    SlashCommand("effort", "show or change how hard the model thinks; - for its default", "[LEVEL]"),
    SlashCommand("login", "how to keep a key or log in"),
    SlashCommand("logout", "forget what is stored for a provider", "PROVIDER"),
    SlashCommand("new", "begin a new conversation; this one is kept"),
    SlashCommand("resume", "list this folder's conversations, or go on with one", "[ID]"),
    SlashCommand("name", "give the conversation a name", "NAME"),
    SlashCommand("clone", "go on in a copy of this conversation"),
    SlashCommand("fork", "go on in a copy up to one message", "[N]"),
    SlashCommand("tree", "the messages with their branches; go on from one; take that back", "[go N | back]"),
    SlashCommand("undo", "put files back to before the last run", "[yes [chat]]"),
    SlashCommand("redo", "undo the last undo", "[yes]"),
    SlashCommand("compact", "shorten the conversation before the next request", "[WISH]", when="any"),
    SlashCommand("context", "what the next request holds", when="any"),
    SlashCommand("cost", "what was used so far", when="any"),
    SlashCommand("plan", "plan without changing anything; off goes back", "[off]"),
    SlashCommand("permissions", "show or set the permission mode", "[MODE]", when="any"),
    SlashCommand("trust", "whether this folder's files are read; change it", "[allow | revoke | forget]"),
    SlashCommand("history", "what you said in this conversation", when="any"),
    SlashCommand("skills", "skills and commands that can be used here", when="any"),
    SlashCommand("mcp", "the MCP servers: what runs, what they offer, what is wrong", when="any"),
    SlashCommand("hooks", "which commands are run at which events", when="any"),
    SlashCommand("theme", "show or set the colours of the screen", "[auto | dark | light | grey]"),
    SlashCommand(
        "export", "write the conversation to a new file: .md, .html, .json or .jsonl", "[FILE]", when="any"
    ),
    SlashCommand("copy", "the last answer to the clipboard", when="any"),
    SlashCommand("reload", "read settings, instructions and skills again"),
    SlashCommand("quit", "leave", when="any", aliases=("exit", "q")),
)

_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def find(name: str) -> SlashCommand | None:
    """The built-in command of that name or alias."""
    return _BY_NAME.get(name)


def split(line: str) -> tuple[str, str]:
    """`(name, what follows)` of a line that begins with `/`."""
    name, _, rest = line[1:].partition(" ")
    return name, rest.strip()
