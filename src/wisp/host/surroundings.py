"""What a person's screen shows around the conversation: files, earlier messages, sessions, models, a draft.

Looks things up off the event loop; changes nothing but the draft.  Knows no screen.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from wisp.host.answering import sessions, tree
from wisp.host.client import CommandRefused, OpenFailed, OpenRequest
from wisp.host.configure import configure
from wisp.host.past import PastMessages
from wisp.host.paths import environment
from wisp.host.showing import Shown
from wisp.messages.ids import SystemClock
from wisp.messages.message import Message, UserMessage

if TYPE_CHECKING:
    from wisp.host.changes import FileChanged
    from wisp.host.screensettings import ScreenSettings
    from wisp.host.service import SessionHost
    from wisp.host.store import Entry, SessionInfo, SessionStore
    from wisp.host.trusting import TrustCard

T = TypeVar("T")
MOST_FILES = 20_000
FRESH = 5.0
"""Seconds for which a list of files is good."""
SESSIONS_ASKED = 8
"""Sessions whose prompts are offered again."""


class HostSurroundings:
    """Implements `client.Surroundings` for one conversation.

    Args:
        request: how the host was asked for.
        host: whoever serves the conversation now.
        past: its messages.
    """

    def __init__(self, request: OpenRequest, host: Callable[[], SessionHost], past: PastMessages) -> None:
        self._request = request
        self._host = host
        self._clock = SystemClock()
        self._files: tuple[float, list[str]] = (-FRESH, [])
        self._past = past
        self._asking = asyncio.Lock()

    async def files(self) -> list[str]:
        """Paths below the working folder, newest first, without those that are ignored."""
        async with self._asking:
            now = self._clock.monotonic()
            if now - self._files[0] > FRESH:
                found = await asyncio.to_thread(self._find, self._host().snapshot().cwd)
                self._files = (self._clock.monotonic(), found)
            return self._files[1]

    def _find(self, cwd: str) -> list[str]:
        from wisp.workspace.errors import Refused
        from wisp.workspace.root import Workspace
        from wisp.workspace.search import Searcher
        from wisp.workspace.stop import StopToken

        try:
            workspace = Workspace(cwd)
        except Refused:
            return []
        path = environment().get("PATH", "/usr/local/bin:/usr/bin:/bin")
        searcher = Searcher(workspace, path, self._clock.monotonic, seconds=2.0)
        try:
            return searcher.find(workspace.place("."), "**", MOST_FILES, StopToken()).paths
        except (Refused, OSError):
            return []
        finally:
            workspace.close()

    async def messages(self, before: int, count: int) -> list[Message]:
        """Messages `before - count` to `before` counted from 0; at the beginning fewer."""
        return await self._past.slice(max(0, before - count), before)

    async def sessions(self, *, everywhere: bool = False) -> list[SessionInfo]:
        """Kept conversations, of this folder or of all, newest first."""
        from wisp.host.small import HostLibrary

        library = HostLibrary(self._request)
        return [*await asyncio.to_thread(sessions, self._host(), library, "", everywhere)]

    async def last_messages(self, session_id: str, count: int) -> list[Message]:
        """The end of a kept conversation.

        Raises:
            LookupError: there is none with that id.
            OSError: it cannot be read.
        """
        from wisp.host.small import HostLibrary

        store = HostLibrary(self._request).store()
        return await asyncio.to_thread(store.last, session_id, count)

    async def tree(self) -> list[Entry]:
        """Every message of this conversation with its branches; empty where it is not kept."""
        return await asyncio.to_thread(tree, self._host())

    async def models(self) -> list[Mapping[str, Any]]:
        """Models that can be used here, with what is known of each."""
        from wisp.host.small import HostLibrary

        return [*await asyncio.to_thread(HostLibrary(self._request).models)]

    async def rename(self, session_id: str, name: str) -> None:
        """Give a kept conversation a name; raises `CommandRefused`."""
        await self._keep(lambda store: store.rename(session_id, name))

    async def fork(self, session_id: str) -> str:
        """Make a copy of a kept conversation; its id.  Raises `CommandRefused`."""
        made = await self._keep(lambda store: store.fork(session_id))
        return made.id

    async def remove(self, session_id: str) -> None:
        """Throw a kept conversation away; raises `CommandRefused`."""
        await self._keep(lambda store: store.remove(session_id))

    async def restore(self, session_id: str) -> None:
        """Bring a conversation back from the trash; raises `CommandRefused`."""
        await self._keep(lambda store: store.restore(session_id))

    async def _keep(self, work: Callable[[SessionStore], T]) -> T:
        from wisp.host.small import HostLibrary

        try:
            return await asyncio.to_thread(work, HostLibrary(self._request).store())
        except LookupError as exc:
            raise CommandRefused(str(exc.args[0] if exc.args else exc)) from None
        except OSError as exc:
            raise CommandRefused(f"{exc.filename or 'the session'}: {exc.strerror or exc}") from None
        except OpenFailed as exc:
            raise CommandRefused(str(exc)) from None

    # -- the folder ---------------------------------------------------------------------------------------

    async def changes(self) -> list[FileChanged]:
        """The files that this conversation's runs changed; raises `CommandRefused`."""
        from wisp.host.changes import changes

        state = self._host().session.state
        steps = list(state.steps[: state.applied])
        made = configure(self._request, environment(), self._clock)
        cwd, folder, kept = self._host().snapshot().cwd, made.paths.state, made.session_base
        try:
            return await asyncio.to_thread(changes, cwd, folder, kept, steps)
        except (LookupError, OSError) as exc:
            raise CommandRefused(str(exc.args[0] if exc.args else exc)) from None

    async def trust(self) -> TrustCard:
        """What there is to decide about the folder."""
        from wisp.host.trusting import trust_card

        configured = configure(self._request, environment(), self._clock)
        return await asyncio.to_thread(trust_card, configured, self._clock)

    async def doctor(self) -> list[Mapping[str, str]]:
        """What works here."""
        from wisp.host.small import HostLibrary

        return [*await asyncio.to_thread(HostLibrary(self._request).doctor)]

    async def settings(self) -> list[Mapping[str, Any]]:
        """Every setting, its value and its origin."""
        from wisp.host.small import HostLibrary

        return [*await asyncio.to_thread(HostLibrary(self._request).config)]

    async def prompts(self) -> list[str]:
        """What the person said in this folder's newest conversations, oldest first."""
        return await asyncio.to_thread(self._prompts, await self.sessions())

    def _prompts(self, found: list[SessionInfo]) -> list[str]:
        from wisp.session.open import seen

        said: list[str] = []
        for info in reversed(found[:SESSIONS_ASKED]):
            with suppress(OSError):
                said += [m.text for m in seen(info.path).state.messages if isinstance(m, UserMessage)]
        return list(dict.fromkeys(reversed(said)))[::-1]

    # -- the desk ----------------------------------------------------------------------------------------

    async def dropped(self, text: str) -> list[str]:
        """The picture files that pasted `text` names, if it names nothing else."""
        from wisp.host.dropped import pictures

        return await asyncio.to_thread(pictures, text, self._host().snapshot().cwd)

    async def picture(self) -> str:
        """A file with the picture that is in the clipboard; empty where there is none."""
        return await asyncio.to_thread(self._picture)

    def _picture(self) -> str:
        from wisp.host.clipboard import picture
        from wisp.host.dropped import keep_picture

        env = environment()
        data = picture(env)
        if not data:
            return ""
        paths = configure(self._request, env, self._clock).paths
        with suppress(OSError):
            return keep_picture(os.path.join(paths.state, "pasted"), data, self._clock)
        return ""

    async def copy(self, text: Shown) -> str:
        """Put `text` into the display's clipboard; the program that took it, empty where none did."""
        from wisp.host.clipboard import copy

        return await asyncio.to_thread(copy, text, environment())

    def screen(self) -> ScreenSettings:
        """How the person wants the screen."""
        return configure(self._request, environment(), self._clock).settings.screen

    def editor(self) -> str:
        """The command of the person's editor: `VISUAL`, `EDITOR`, or vi."""
        env = environment()
        return env.get("VISUAL") or env.get("EDITOR") or "vi"

    # -- the draft ----------------------------------------------------------------------------------------

    @property
    def _draft_file(self) -> str:
        from wisp.session.catalog import folder_name

        paths = configure(self._request, environment(), self._clock).paths
        return os.path.join(paths.state, "drafts", folder_name(self._host().snapshot().cwd))

    def draft(self) -> str:
        """What was being written here when the screen was last closed or broke."""
        try:
            with open(self._draft_file, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def keep_draft(self, text: str) -> None:
        """Keep what is being written, for the person alone; an empty one is forgotten.  Never fails."""
        from wisp.session.whole import replace_private

        path = self._draft_file
        with suppress(OSError):
            if text.strip():
                replace_private(path, text.encode("utf-8", "replace"))
            else:
                os.unlink(path)
