"""Answers to what front ends ask about a conversation; see `host.queries`.

Owns nothing: it reads the host and the stored files of the moment it is asked in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from wisp.host import queries as ask
from wisp.host.client import CommandRefused
from wisp.host.events import CredentialsShown
from wisp.host.external import PREFIX
from wisp.host.past import PastMessages
from wisp.host.reports import cost_text
from wisp.host.service import SessionHost
from wisp.host.small import HostLibrary
from wisp.session.branches import Entry
from wisp.session.catalog import SessionInfo


async def answer(query: ask.Query, host: SessionHost, library: HostLibrary, past: PastMessages) -> Any:
    """The answer to a query that changes nothing of the conversation.

    Raises:
        CommandRefused: a message that was named is not there.
        OpenFailed, LookupError, OSError: as the library raises them.
    """
    if isinstance(query, ask.GetState):
        return ask.State(host.snapshot(), host.view, host.running, host.queue)
    if isinstance(query, ask.GetMessages):
        return await _page(past, query.before, _bounded(query.limit))
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
        most = _bounded(query.limit)
        return lambda: tuple(islice(sessions(host, library, query.text, query.everywhere), most))
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


async def _page(past: PastMessages, before: str, limit: int) -> ask.MessagePage:
    """The last `limit` messages, or the last before the one whose id is `before`.

    Raises:
        CommandRefused: there is no such message.
        OSError: the session cannot be read.
    """
    ids = await past.ids()
    if before and before not in ids:
        raise CommandRefused(f"there is no message {before!r} in this conversation")
    end = ids.index(before) if before else len(ids)
    first = max(0, end - limit)
    messages = tuple(await past.slice(first, end))
    return ask.MessagePage(messages, ids[first] if first else "", len(ids))


def _skills(library: HostLibrary) -> ask.Skills:
    rows, notes = library.skills()
    return ask.Skills(tuple(rows), notes)


def sessions(host: SessionHost, library: HostLibrary, text: str, everywhere: bool) -> Iterable[SessionInfo]:
    """Kept conversations of this folder or of all, newest first; with `text` those in which it was said."""
    store = library.store()
    cwd = None if everywhere else host.snapshot().cwd
    return (shown.info for shown in store.find(text, cwd)) if text else store.listed(cwd)


def tree(host: SessionHost) -> list[Entry]:
    """Every message of this conversation with its branches; empty where it is not kept."""
    from wisp.host.store import tree_of

    return tree_of(host.session.where) if host.session.where else []


def _tree(query: ask.GetTree, host: SessionHost) -> ask.Tree:
    rows = tree(host)
    first = max(0, query.after)
    return ask.Tree(tuple(rows[first : first + _bounded(query.limit)]), len(rows))


def _bounded(limit: int) -> int:
    return max(1, min(limit, ask.MOST))
