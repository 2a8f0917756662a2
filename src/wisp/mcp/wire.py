"""JSON-RPC 2.0 as MCP has it: one message a line, exact names, nothing twice.

Knows nothing of what a method means or of where the bytes come from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from wisp.messages.codec import NotAnObject, ascii_json, unique

MOST_LINE = 16 << 20
"""Bytes of the longest message that is read."""

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

Id = int | str
_ID = re.compile(rb'"id"\s*:\s*([0-9]{1,9})')


class Fault(NamedTuple):
    """The `error` of an answer."""

    code: int
    message: str
    data: Any = None


class Answer(NamedTuple):
    """What a request led to: a result or a fault."""

    id: Id
    result: dict[str, Any] | None
    fault: Fault | None


class Request(NamedTuple):
    """Something the other side wants to know."""

    id: Id
    method: str
    params: dict[str, Any]


class Notification(NamedTuple):
    """Something the other side tells."""

    method: str
    params: dict[str, Any]


Message = Answer | Request | Notification


class Junk(ValueError):
    """Not a message; `id` is that of the request it would have answered, where that can be seen."""

    def __init__(self, why: str, id_: Id | None = None) -> None:
        super().__init__(why)
        self.id = id_


class TooLong(ValueError):
    """A line goes on beyond the limit."""


class Lines:
    """Cuts a stream of bytes into lines, in memory bounded by `most` bytes and one piece."""

    def __init__(self, most: int = MOST_LINE) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self._held = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends.

        Raises:
            TooLong: one has more than `most` bytes; the stream is of no use after that.
        """
        *whole, rest = data.split(b"\n")
        lines = []
        for piece in whole:
            self._hold(piece)
            lines.append(b"".join(self._pieces))
            self._pieces, self._held = [], 0
        if rest:
            self._hold(rest)
        return lines

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self._most:
            raise TooLong(f"a line of more than {self._most:,} bytes")
        self._pieces.append(piece)


def read(line: bytes) -> Message:
    """The message in `line`.

    Raises:
        Junk: it is none; names count exactly as written, and none may stand twice.
    """
    try:
        found = json.loads(line, object_pairs_hook=unique, parse_constant=_no_constant)
    except (NotAnObject, RecursionError, ValueError) as exc:
        raise Junk(f"not JSON as the protocol wants it: {exc}", _address(line)) from None
    return message_of(found)


def message_of(found: Any) -> Message:
    """The message that a JSON value is.

    Raises:
        Junk: it is none.
    """
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise Junk("not a JSON-RPC 2.0 message")
    method, id_ = found.get("method"), found.get("id")
    if isinstance(id_, bool) or not isinstance(id_, int | str | None):
        raise Junk("its id is neither a number nor a text")
    if isinstance(method, str):
        params = found.get("params", {})
        if not isinstance(params, dict):
            raise Junk("its params are no object")
        return Notification(method, params) if "id" not in found else Request(_known(id_), method, params)
    return _answer(found, _known(id_))


def _answer(found: Mapping[str, Any], id_: Id) -> Answer:
    result, error = found.get("result"), found.get("error")
    if ("result" in found) == ("error" in found):
        raise Junk("it has neither a result nor an error, or both", id_)
    if isinstance(result, dict):
        return Answer(id_, result, None)
    if not isinstance(error, dict) or isinstance(error.get("code"), bool):
        raise Junk("its result or error is no object", id_)
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or not isinstance(message, str):
        raise Junk("its error has no code or no message", id_)
    return Answer(id_, None, Fault(code, message, error.get("data")))


def _known(id_: Id | None) -> Id:
    if id_ is None:
        raise Junk("it has no id")
    return id_


def _address(line: bytes) -> Id | None:
    """The id in a line that is not good enough to be believed otherwise."""
    try:
        found = json.loads(line)
        id_ = found.get("id") if isinstance(found, dict) else None
    except (RecursionError, ValueError):
        seen = _ID.search(line)
        id_ = int(seen[1]) if seen else None
    return id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None


def _no_constant(name: str) -> NoReturn:
    raise NotAnObject(f"{name} is not JSON")


def request(id_: Id, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A request as it is sent."""
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def notification(method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A notification as it is sent."""
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def answer(id_: Id, result: Mapping[str, Any]) -> dict[str, Any]:
    """A good answer as it is sent."""
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def refusal(id_: Id, code: int, message: str) -> dict[str, Any]:
    """A bad answer as it is sent."""
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def line_of(message: Mapping[str, Any]) -> bytes:
    """A message as one line, ASCII only."""
    return ascii_json(message) + b"\n"
