"""What an extension can add: the object its `extend` function is given.

Only collects.  Names that are taken or make no sense are refused here, with the extension's own line in the
traceback; what becomes of the rest is `host/extending.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from wisp.host.hookrun import DEFAULT_TIMEOUT
from wisp.host.tables import EVENTS
from wisp.providers.base import ModelInfo, Provider
from wisp.tools.base import Tool

API = 1
"""The version of this interface.  It grows within a number; what breaks an extension raises it."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Say(msgspec.Struct, frozen=True):
    """What a command returns to have it said to the model, as if a person had typed it."""

    text: str


class Command(msgspec.Struct, frozen=True):
    """A slash command."""

    name: str
    function: Callable[[str], Any]
    about: str
    arguments: str


class Hooked(msgspec.Struct, frozen=True):
    """A function at an event."""

    event: str
    function: Callable[[dict[str, Any]], Any]
    matcher: str
    timeout: float


class Observer(msgspec.Struct, frozen=True):
    """A function that hears of events."""

    function: Callable[[dict[str, Any]], Any]
    types: frozenset[str]


class Offered(msgspec.Struct, frozen=True):
    """A provider."""

    provider: Provider
    models: tuple[ModelInfo, ...]


class Registry:
    """What one extension adds.

    Args:
        name: what the settings call it.
        options: its table `options` in the settings.
        cwd: the folder of the conversation.
        log: tells a person something.
    """

    api = API

    def __init__(
        self, name: str, options: Mapping[str, Any], cwd: str, log: Callable[[str], None], parts: Any = None
    ) -> None:
        self.name = name
        self.options = dict(options)
        self.cwd = cwd
        self.log = log
        self.parts = parts
        """Of the conversation, for extensions that come with Wisp; no part of the interface."""
        self.tools: list[Tool] = []
        self.commands: list[Command] = []
        self.hooks: list[Hooked] = []
        self.observers: list[Observer] = []
        self.blocks: list[tuple[str, str | Callable[[], str]]] = []
        self.renderers: dict[str, Callable[[dict[str, Any]], str]] = {}
        self.providers: dict[str, Offered] = {}

    def tool(self, given: Tool | Callable[..., Any]) -> None:
        """Offer the model a tool: a function with annotations, one made with `wisp.tool`, or a `Tool`.

        A plain function is asked about at every call; see `wisp.tool` for saying what a call does.

        Raises:
            TypeError: it cannot be described to a model.
        """
        from wisp.tools.functions import as_tool

        self.tools.append(as_tool(given))

    def command(
        self, name: str, function: Callable[[str], Any], *, about: str = "", arguments: str = ""
    ) -> None:
        """Add the slash command `/NAME`.

        Args:
            function: gets what was typed after the name; returns text for the person, `Say` for the model, or
                None.  May be asynchronous.
            about: one line for lists.
            arguments: what may follow, for people.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a command: lower case letters, digits, - and _")
        self.commands.append(Command(name, function, about or f"of the extension {self.name}", arguments))

    def hook(
        self,
        event: str,
        function: Callable[[dict[str, Any]], Any],
        *,
        matcher: str = "",
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Call `function` at an event, as a command of the settings is run.

        It gets what that gets on standard input, and returns what that would answer, or None.

        Args:
            timeout: seconds after which it is given up.
        """
        if event not in EVENTS:
            raise ValueError(f"{event!r} is no event; the events are: {', '.join(sorted(EVENTS))}")
        if timeout <= 0:
            raise ValueError("the timeout must be more than 0 seconds")
        self.hooks.append(Hooked(event, function, matcher, timeout))

    def observe(self, function: Callable[[dict[str, Any]], Any], types: Sequence[str] = ()) -> None:
        """Tell `function` of every event, as programs get them; in order, and never waited for.

        Args:
            types: only these, for instance `turn.completed`.
        """
        self.observers.append(Observer(function, frozenset(types)))

    def block(self, text: str | Callable[[], str], title: str = "") -> None:
        """Add to the instructions of the conversation.

        Args:
            text: or a function that returns it, called once for each conversation.
            title: for lists.
        """
        self.blocks.append((title or self.name, text))

    def renderer(self, tool: str, function: Callable[[dict[str, Any]], str]) -> None:
        """Have `function` say how people are shown a result of `tool`; the model's stays as it is.

        Args:
            function: gets the event `tool.execution.ended` and returns text.
        """
        self.renderers[tool] = function

    def provider(self, name: str, provider: Provider, models: Sequence[ModelInfo] = ()) -> None:
        """Add a model service, chosen as `NAME/MODEL`.

        Args:
            models: what is known of its models; others can be named too.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a provider: lower case letters, digits, - and _")
        self.providers[name] = Offered(provider, tuple(models))
