"""What a tool is to the rest of the system: a description, declared effects, and an outcome.

How a tool does its work, and who allows it, is not known here.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wisp.messages.content import ResultBlock, Text, text_of


class ToolSpec(msgspec.Struct, frozen=True):
    """What the model is told of one tool."""

    name: str
    """Letters, digits, `_` and `-`, at most 64 characters."""
    description: str
    parameters: dict[str, Any]
    """JSON Schema of the arguments; an object schema.  Never changed after construction."""


EffectKind = Literal["read", "write", "execute", "network", "ask"]


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing a call would do, described so that a policy can decide without knowing the tool."""

    kind: EffectKind
    target: str
    """A path (absolute, as it will be opened), a command line, or a host."""
    inside: bool = True
    """For paths: beneath a root the user granted."""
    exists: bool = True
    """For writes: the target is there already."""
    protected: str = ""
    """For paths: why this name deserves a question of its own (git, settings, secrets); empty if not."""
    boxed: bool = False
    """For commands: it runs in the operating-system sandbox, which was seen to work."""
    unboxed: str = ""
    """For commands: why it does not; empty where nobody asked for a sandbox."""
    reaches: str = ""
    """For commands: what it would come upon without saying so, outside or with secrets; empty for nothing."""
    runs: str = ""
    """For commands: the project's files that decide what they run, each with a digest; empty for none."""


Replay = Literal["safe", "never"]
"""Whether a call whose outcome is unknown after a crash may simply be run again."""


class ToolOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a call led to, before it becomes a message."""

    content: tuple[ResultBlock, ...]
    is_error: bool = False
    code: str = ""
    details: dict[str, Any] = {}
    """Facts for screens and programs (a diff, an exit code), JSON values only; the model never sees them."""

    @property
    def text(self) -> str:
        """The words the model will read."""
        return text_of(self.content)


class ToolFailure(Exception):
    """An expected failure of a call: it becomes a result the model can act on.

    Args:
        code: machine code, one of the contract's (`not_found`, `not_unique`, `stale_input`, `denied`,
            `invalid_arguments`, `timeout`, `too_large`, ...).
        message: one sentence that says what happened and what to do instead.
        details: facts for screens and programs.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    def outcome(self) -> ToolOutcome:
        """This failure as what the model gets to see."""
        return ToolOutcome((Text(f"error ({self.code}): {self.message}"),), True, self.code, self.details)


def plain(text: str, **details: Any) -> ToolOutcome:
    """A successful outcome of one text."""
    return ToolOutcome((Text(text),), details=details)
