"""The methods of the protocol that an agent serves, and the sessions that are open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from wisp.frontends.acp.blocks import prompt_of, replayed
from wisp.frontends.acp.editor import EditorFiles
from wisp.frontends.acp.options import MODE_IDS, mcp_settings
from wisp.frontends.acp.session import AUTH_REQUIRED, Session
from wisp.frontends.acp.store import Library, Stored
from wisp.frontends.acp.types import (
    VERSION,
    Authenticate,
    ClientCapabilities,
    Initialize,
    ListSessions,
    NewSession,
    OldSession,
    OneSession,
    PromptRequest,
    PromptResult,
    SessionList,
    SessionState,
    SetMode,
    SetOption,
)
from wisp.frontends.wire.peer import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Peer,
    RpcError,
)
from wisp.host.client import ConversationClient, OpenFailed, OpenRequest

NOT_FOUND = -32002
LOGIN = "wisp-login"
MOST_OPEN = 200
"""Sessions at once: each holds files open."""
SESSION_CAPABILITIES = ("list", "delete", "additionalDirectories", "fork", "resume", "close")
Opener = Callable[[OpenRequest], Awaitable[ConversationClient]]
_T = TypeVar("_T")
_Method = Callable[[Any], Awaitable[Any]]


class Agent:
    """Serves one client.  Implements `rpc.Handler`.

    Args:
        request: what every session has in common.
        opener: opens a conversation; raises `OpenFailed`.
        library: makes what knows of stored sessions and models.
        version: the program's own.
    """

    def __init__(
        self,
        request: OpenRequest,
        opener: Opener,
        library: Callable[[OpenRequest], Library],
        version: str,
    ) -> None:
        self._request = request
        self._opener = opener
        self._stored = Stored(request, library)
        self._version = version
        self._client = ClientCapabilities()
        self._sessions: dict[str, Session] = {}
        self._opening = asyncio.Lock()
        """Held while sessions are opened and closed, so that none is opened twice."""
        self.peer: Peer | None = None
        self._methods: Mapping[str, tuple[type, _Method]] = {
            "initialize": (Initialize, self._initialize),
            "authenticate": (Authenticate, self._authenticate),
            "session/new": (NewSession, self._new),
            "session/load": (OldSession, self._load),
            "session/resume": (OldSession, self._resume),
            "session/fork": (OldSession, self._fork),
            "session/list": (ListSessions, self._list),
            "session/close": (OneSession, self._close),
            "session/delete": (OneSession, self._delete),
            "session/prompt": (PromptRequest, self._prompt),
            "session/set_mode": (SetMode, self._set_mode),
            "session/set_config_option": (SetOption, self._set_option),
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
        async with self._opening:
            while self._sessions:
                await self._sessions.popitem()[1].close()

    # -- the connection -----------------------------------------------------------------------------------

    async def _initialize(self, asked: Initialize) -> dict[str, Any]:
        self._client = asked.client_capabilities or ClientCapabilities()
        empty: dict[str, Any] = {}
        login: dict[str, Any] = {
            "id": LOGIN,
            "name": "Log in with wisp login",
            "description": "Keys and logins are kept by 'wisp login PROVIDER', which runs in a terminal",
        }
        auth = self._client.auth
        if auth is not None and auth.terminal:
            login |= {"type": "terminal", "args": ["login"]}
        return {
            "protocolVersion": VERSION,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": False},
                "sessionCapabilities": dict.fromkeys(SESSION_CAPABILITIES, empty),
            },
            "agentInfo": {"name": "wisp", "title": "Wisp", "version": self._version},
            "authMethods": [login],
        }

    async def _authenticate(self, asked: Authenticate) -> dict[str, Any]:
        """Logging in is done in a terminal; this says whether it was."""
        if asked.method_id != LOGIN:
            raise RpcError(INVALID_PARAMS, f"{asked.method_id[:100]!r} is no method; use {LOGIN!r}")
        if not await self._stored.models(""):
            raise RpcError(AUTH_REQUIRED, "no model can be used yet: run 'wisp login PROVIDER' in a terminal")
        return {}

    # -- sessions: opened and closed ----------------------------------------------------------------------

    async def _new(self, asked: NewSession) -> SessionState:
        return await self._opened(asked)

    async def _load(self, asked: OldSession) -> SessionState:
        """Open a stored session and tell all that was said in it."""
        return await self._reopened(asked, replay=True)

    async def _resume(self, asked: OldSession) -> SessionState:
        return await self._reopened(asked, replay=False)

    async def _fork(self, asked: OldSession) -> SessionState:
        await self._must_exist(asked.session_id)
        return await self._opened(asked, fork=asked.session_id)

    async def _reopened(self, asked: OldSession, *, replay: bool) -> SessionState:
        async with self._opening:
            await self._must_exist(asked.session_id)
            here = self._sessions.get(asked.session_id)
            if here is not None:
                if here.busy:
                    raise RpcError(INVALID_REQUEST, "a prompt of this session is being answered")
                del self._sessions[here.id]
                await here.close()
            session = await self._open(asked, resume=asked.session_id)
        if replay:
            try:
                said = await self._stored.messages(session.id)
            except LookupError as exc:  # thrown away meanwhile
                raise RpcError(NOT_FOUND, str(exc.args[0])) from None
            for number, update in enumerate(replayed(said, session.cwd)):
                session.teller.send(update)
                if number % 100 == 99:
                    await session.peer.flushed()
        return await self._state(session)

    async def _opened(self, asked: NewSession | OldSession, **changes: Any) -> SessionState:
        async with self._opening:
            session = await self._open(asked, **changes)
        state = await self._state(session)
        return msgspec.structs.replace(state, session_id=session.id)

    async def _open(self, asked: NewSession | OldSession, **changes: Any) -> Session:
        more = asked.additional_directories or ()
        for path in (asked.cwd, *more):
            if not os.path.isabs(path) or "\0" in path:
                raise RpcError(INVALID_PARAMS, f"{path[:200]!r} is not an absolute path")
        if len(self._sessions) >= MOST_OPEN:
            raise RpcError(INVALID_REQUEST, f"{MOST_OPEN} sessions are open; close one first")
        options = dict(self._request.options)
        if more:
            options["add_dir"] = [*options.get("add_dir", ()), *more]
        if asked.mcp_servers:
            options["mcp_servers"] = mcp_settings(asked.mcp_servers)
        forms = self._client.elicitation is not None and self._client.elicitation.form is not None
        assert self.peer is not None
        reads = self._client.fs is not None and self._client.fs.read_text_file is True
        editor = EditorFiles(self.peer) if reads else None
        wanted = msgspec.structs.replace(
            self._request, cwd=asked.cwd, options=options, converses=forms, buffers=editor, **changes
        )
        conversation = await self._opener(wanted)
        session = Session(conversation, self.peer, self._stored)
        if editor is not None:
            editor.session_id = session.id
        self._sessions[session.id] = session
        return session

    async def _state(self, session: Session) -> SessionState:
        """What a client is told of a session that it has opened."""
        state = SessionState(modes=session.modes(), config_options=await session.config_options())
        asyncio.get_running_loop().call_soon(session.introduce)  # after the answer, which names the session
        return state

    async def _must_exist(self, session_id: str) -> None:
        if await self._stored.find(session_id) is None:
            raise RpcError(NOT_FOUND, f"there is no session {session_id[:100]!r}")

    async def _list(self, asked: ListSessions) -> SessionList:
        cursor = asked.cursor or "0"
        if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
            raise RpcError(INVALID_PARAMS, f"{cursor[:100]!r} is no cursor of ours")
        if asked.cwd is not None and (not os.path.isabs(asked.cwd) or "\0" in asked.cwd):
            raise RpcError(INVALID_PARAMS, f"{asked.cwd[:200]!r} is not an absolute path")
        return await self._stored.listed(asked.cwd, int(cursor))

    async def _close(self, asked: OneSession) -> dict[str, Any]:
        async with self._opening:
            session = self._session(asked.session_id)
            del self._sessions[session.id]
            await session.close()
        return {}

    async def _delete(self, asked: OneSession) -> dict[str, Any]:
        """Throw a session away; one that is not there is as good as thrown away."""
        async with self._opening:
            session = self._sessions.pop(asked.session_id, None)
            if session is not None:
                await session.close()
            with suppress(LookupError):
                await self._stored.delete(asked.session_id)
        return {}

    # -- sessions: used -----------------------------------------------------------------------------------

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise RpcError(NOT_FOUND, f"no session {session_id[:100]!r} is open")
        return session

    async def _prompt(self, asked: PromptRequest) -> PromptResult:
        return await self._session(asked.session_id).prompt(prompt_of(asked.prompt))

    async def _set_mode(self, asked: SetMode) -> dict[str, Any]:
        session = self._session(asked.session_id)
        if asked.mode_id not in MODE_IDS:
            raise RpcError(INVALID_PARAMS, f"{asked.mode_id[:100]!r} is no mode")
        await session.set_mode(asked.mode_id)
        return {}

    async def _set_option(self, asked: SetOption) -> dict[str, Any]:
        session = self._session(asked.session_id)
        await session.set_option(asked.config_id, asked.value)
        return {"configOptions": await session.config_options()}


def _read(params: bytes, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(params, type=kind)
    except (msgspec.MsgspecError, RecursionError) as exc:
        raise RpcError(INVALID_PARAMS, f"these parameters cannot be used: {exc}") from None
