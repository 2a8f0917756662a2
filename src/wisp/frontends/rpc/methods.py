"""Which methods there are, what they take and what they answer: the host's commands and queries, by tag.

The reference page and the JSON Schema are written from this table.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from wisp.host.commands import AnyCommand, Command, Prompt, ShowContext
from wisp.host.events import EVENTS
from wisp.host.queries import ANSWERS, Query, State
from wisp.host.view import RunView

PROTOCOL = 1
"""Counts changes that an older client would misunderstand; new methods, events and fields do not count."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
)
REFUSED, NOT_INITIALIZED, NOT_OPENED = -32001, -32002, -32003

HANDSHAKE_BYTES, FRAME_BYTES = 64 << 10, 64 << 20
"""The longest line before and after `initialize`."""


class Peer(msgspec.Struct, frozen=True):
    """Who speaks."""

    name: str
    version: str = ""


class Initialize(msgspec.Struct, frozen=True, tag="initialize"):
    """The first request: opens the conversation that the command line describes."""

    protocol: int
    """The newest that the client knows."""
    client: Peer
    approvals: bool = True
    """The client answers `tool.approval.requested`; else what would be asked is refused."""
    questions: bool = True
    """The client answers `question.asked`."""


class Initialized(msgspec.Struct, frozen=True):
    """What was agreed on."""

    protocol: int
    """The lower of the two sides' newest."""
    server: Peer
    methods: tuple[str, ...]
    state: State
    seq: int
    """Number of the last event that `state` takes into account."""


class Shutdown(msgspec.Struct, frozen=True, tag="shutdown"):
    """Stop what runs, settle it and end the process; answered when all is settled."""


class Done(msgspec.Struct, frozen=True):
    """It was done; there is nothing to tell."""


class Ran(msgspec.Struct, frozen=True):
    """A run is over: retries, queued messages and compactions included."""

    run: RunView


class Request(msgspec.Struct, frozen=True):
    """What arrives."""

    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | msgspec.UnsetType | None = msgspec.UNSET
    params: dict[str, Any] = {}


COMMANDS: dict[str, type[Command]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(AnyCommand) if kind is not ShowContext
}
QUERIES: dict[str, type[Query]] = {str(kind.__struct_config__.tag): kind for kind in ANSWERS}
OWN: dict[str, type[msgspec.Struct]] = {"initialize": Initialize, "shutdown": Shutdown}


def names() -> tuple[str, ...]:
    """Every method."""
    return tuple(sorted([*COMMANDS, *QUERIES, *OWN]))


def params_of(method: str) -> type[msgspec.Struct] | None:
    """What `method` takes; None when there is no such method."""
    return COMMANDS.get(method) or QUERIES.get(method) or OWN.get(method)


def result_of(method: str) -> Any:
    """The type of what `method` answers."""
    if method in QUERIES:
        return ANSWERS[QUERIES[method]]
    if method == "initialize":
        return Initialized
    return Ran if COMMANDS.get(method) is Prompt else Done


def schema() -> dict[str, Any]:
    """JSON Schema 2020-12: `methods` names, for each method, where its params and its result are defined, and
    `events` the same for the params of the notification `event`, by their `type`."""
    every = names()
    types = [kind for name in every for kind in (params_of(name), result_of(name))]
    types += EVENTS
    found, components = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    for definition in components.values():
        # The tag is the method's name, which stands in the request and not in its params.
        if definition.get("properties", {}).get("type", {}).get("enum", [""])[0] in every:
            del definition["properties"]["type"]
            definition["required"] = [word for word in definition.get("required", []) if word != "type"]
    events = found[-len(EVENTS) :]
    found = found[: -len(EVENTS)]
    pairs = zip(every, found[::2], found[1::2], strict=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"wisp rpc, protocol {PROTOCOL}",
        "methods": {name: {"params": params, "result": result} for name, params, result in pairs},
        "events": {str(kind.__struct_config__.tag): ref for kind, ref in zip(EVENTS, events, strict=True)},
        "$defs": components,
    }
