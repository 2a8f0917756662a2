"""The methods of the protocol that an agent serves, and the sessions that are open."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from wisp.frontends.acp.blocks import prompt_of
from wisp.frontends.acp.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Peer,
    RpcError,
)
from wisp.frontends.acp.session import AUTH_REQUIRED, Session
from wisp.frontends.acp.types import (
    VERSION,
    ClientCapabilities,
    Initialize,
    NewSession,
    OneSession,
    PromptRequest,
    SessionState,
)
from wisp.host.client import ConversationClient, OpenFailed, OpenRequest

NOT_FOUND = -32002
Opener = Callable[[OpenRequest], Awaitable[ConversationClient]]
_T = TypeVar("_T")
_Method = Callable[[Any], Awaitable[Any]]


class Agent:
    """Serves one client.  Implements `rpc.Handler`.

    Args:
        request: what every session has in common.
        opener: opens a conversation; raises `OpenFailed`.
        version: the program's own.
    """

    def __init__(self, request: OpenRequest, opener: Opener, version: str) -> None:
        self._request = request
        self._opener = opener
        self._version = version
        self._client = ClientCapabilities()
        self._sessions: dict[str, Session] = {}
        self.peer: Peer | None = None
        self._methods: Mapping[str, tuple[type, _Method]] = {
            "initialize": (Initialize, self._initialize),
            "session/new": (NewSession, self._new),
            "session/prompt": (PromptRequest, self._prompt),
        }

    # -- rpc.Handler --------------------------------------------------------------------------------------

    async def request(self, method: str, params: bytes) -> Any:
        """See `rpc.Handler.request`."""
        kind, work = self._methods.get(method, (None, None))
        if kind is None or work is None:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method {method[:100]!r}", {"method": method[:100]})
        try:
            return await work(_read(params, kind))
        except OpenFailed as exc:
            code = {1: INTERNAL_ERROR, 2: INVALID_PARAMS}.get(exc.exit_code, AUTH_REQUIRED)
            raise RpcError(code, str(exc)) from None

    async def notification(self, method: str, params: bytes) -> None:
        """See `rpc.Handler.notification`."""
        if method == "session/cancel":
            session = self._sessions.get(_read(params, OneSession).session_id)
            if session is not None:
                await session.cancel()

    async def stop(self) -> None:
        """Cancel whatever runs."""
        for session in list(self._sessions.values()):
            await session.cancel()

    async def close(self) -> None:
        """Close every session."""
        while self._sessions:
            await self._sessions.popitem()[1].close()

    # -- methods ------------------------------------------------------------------------------------------

    async def _initialize(self, asked: Initialize) -> dict[str, Any]:
        self._client = asked.client_capabilities or ClientCapabilities()
        return {
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": False, "sse": False},
            },
            "agentInfo": {"name": "wisp", "title": "Wisp", "version": self._version},
            "authMethods": [],
        }

    async def _new(self, asked: NewSession) -> SessionState:
        session = await self._open(asked.cwd, asked.additional_directories or ())
        return SessionState(session_id=session.id)

    async def _prompt(self, asked: PromptRequest) -> Any:
        return await self._session(asked.session_id).prompt(prompt_of(asked.prompt))

    # -- sessions -----------------------------------------------------------------------------------------

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise RpcError(NOT_FOUND, f"no session {session_id[:100]!r} is open")
        return session

    async def _open(self, cwd: str, more: tuple[str, ...], **changes: Any) -> Session:
        for path in (cwd, *more):
            if not os.path.isabs(path) or "\0" in path:
                raise RpcError(INVALID_PARAMS, f"{path!r} is not an absolute path")
        options = dict(self._request.options)
        if more:
            options["add_dir"] = [*options.get("add_dir", ()), *more]
        wanted = msgspec.structs.replace(self._request, cwd=cwd, options=options, **changes)
        conversation = await self._opener(wanted)
        assert self.peer is not None
        session = Session(conversation.snapshot().session_id, conversation, self.peer)
        self._sessions[session.id] = session
        return session


def _read(params: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(params, type=kind)
    except (msgspec.MsgspecError, RecursionError) as exc:
        raise RpcError(INVALID_PARAMS, f"these parameters cannot be used: {exc}") from None
