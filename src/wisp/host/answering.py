"""Answers to what front ends ask about a conversation; see `host.queries`.

Owns nothing: it reads the host and the stored files of the moment it is asked in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from wisp.host import queries as ask
from wisp.host.client import CommandRefused
from wisp.host.events import CredentialsShown
from wisp.host.external import PREFIX
from wisp.host.reports import cost_text
from wisp.host.service import SessionHost
from wisp.host.small import HostLibrary
from wisp.messages.message import Message
from wisp.session.catalog import SessionInfo
from wisp.session.open import opened_tree

Found = tuple[SessionInfo, ...]


async def answer(query: ask.Query, host: SessionHost, library: HostLibrary) -> Any:
    """The answer to a query that changes nothing of the conversation.

    Raises:
        CommandRefused: a message that was named is not there.
        OpenFailed, LookupError, OSError: as the library raises them.
    """
    if isinstance(query, ask.GetState):
        return ask.State(host.snapshot(), host.view, host.running, host.queue)
    if isinstance(query, ask.GetMessages):
        return await asyncio.to_thread(page, host, query.before, _bounded(query.limit))
    if isinstance(query, ask.GetMcp):
        now = host.snapshot()
        return ask.Servers(now.mcp_servers, tuple(name for name in now.tools if name.startswith(PREFIX)))
    if isinstance(query, ask.GetQueue):
        return host.queue
    if isinstance(query, ask.GetContext):
        return host.context()
    if isinstance(query, ask.GetStats):
        state = host.session.state
        return ask.Stats(state.turns, state.count, state.usage, state.cost_usd, cost_text(host))
    if isinstance(query, ask.GetPermissions):
        rules = library.rules()[1:]
        allow = tuple(text for what, text in rules if what == "allow")
        deny = tuple(text for what, text in rules if what == "deny")
        return ask.Permissions(host.snapshot().permission_mode, deny, allow, host.granted)
    return await asyncio.to_thread(_stored(query, host, library))


def _stored(query: ask.Query, host: SessionHost, library: HostLibrary) -> Callable[[], Any]:
    """What looks into files or asks a service: done beside the conversation."""
    if isinstance(query, ask.GetSkills):
        return lambda: _skills(library)
    if isinstance(query, ask.GetModels):
        return lambda: tuple(library.models(query.words, all_=query.all))
    if isinstance(query, ask.ListSessions):
        return lambda: _sessions(query, host, library)
    if isinstance(query, ask.GetTree):
        return lambda: _tree(query, host)
    if isinstance(query, ask.StoreKey):
        return lambda: ask.Said(library.store_key(query.provider, query.key, in_keyring=query.keyring))
    if isinstance(query, ask.Disconnect):
        return lambda: ask.Said(library.logout(query.provider))
    if isinstance(query, ask.BeginDeviceCode):
        loop = asyncio.get_running_loop()

        def show(text: str) -> None:
            loop.call_soon_threadsafe(host.tell, CredentialsShown(query.provider, text))

        return lambda: ask.Said(library.login(query.provider, show, device=True))
    raise CommandRefused(f"{type(query).__name__} is not answered here")


def page(host: SessionHost, before: str, limit: int) -> ask.MessagePage:
    """The last `limit` messages, or the last before the one whose id is `before`.

    Raises:
        CommandRefused: there is no such message.
        OSError: the session cannot be read.
    """
    state = host.session.state
    if not state.earlier.count:
        held = list(state.messages)
        return _page([m.id for m in held], before, limit, held.__getitem__)
    with opened_tree(host.session.where) as tree:
        ids = tree.fold.path(tree.fold.state.leaf)
        return _page(ids, before, limit, lambda place: tree.fold.message(ids[place]))


def _page(ids: list[str], before: str, limit: int, read: Callable[[int], Message]) -> ask.MessagePage:
    if before and before not in ids:
        raise CommandRefused(f"there is no message {before!r} in this conversation")
    end = ids.index(before) if before else len(ids)
    first = max(0, end - limit)
    return ask.MessagePage(
        tuple(read(place) for place in range(first, end)), ids[first] if first else "", len(ids)
    )


def _skills(library: HostLibrary) -> ask.Skills:
    rows, notes = library.skills()
    return ask.Skills(tuple(rows), notes)


def _sessions(query: ask.ListSessions, host: SessionHost, library: HostLibrary) -> tuple[SessionInfo, ...]:
    store = library.store()
    cwd = None if query.everywhere else host.snapshot().cwd
    if not query.text:
        return tuple(store.listed(cwd)[: _bounded(query.limit)])
    found = (shown.info for shown in store.find(query.text, cwd))
    return tuple(info for _, info in zip(range(_bounded(query.limit)), found, strict=False))


def _tree(query: ask.GetTree, host: SessionHost) -> ask.Tree:
    from wisp.host.store import tree_of

    if not host.session.where:
        return ask.Tree((), 0)
    rows = tree_of(host.session.where)
    first = max(0, query.after)
    return ask.Tree(tuple(rows[first : first + _bounded(query.limit)]), len(rows))


def _bounded(limit: int) -> int:
    return max(1, min(limit, ask.MOST))
