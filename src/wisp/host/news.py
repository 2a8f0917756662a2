"""What the model is told between turns because the world moved: a folder's own instructions when a tool first
touches it, a background command that ended, tools of other programs that came or went.

Implements the harness's `News`.  What it already told is looked up in the conversation, so that it is told
again after a compaction took it away, and not again after a resume.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from wisp.host.instructions import notes_of
from wisp.messages.message import Message, Notice
from wisp.messages.tool import Effect
from wisp.tools.process import ended_line
from wisp.workspace.background import Backgrounds
from wisp.workspace.root import Workspace

if TYPE_CHECKING:
    from wisp.mcp.servers import Servers, ServerTool

NESTED_BYTES = 8_192
"""Most bytes told of one folder's instructions."""


class HostNews:
    """Collects what happened; nothing is read before somebody asks.

    Args:
        workspace: whose first root is the working directory.
        trusted: whether files of that folder may be read as instructions.
        servers: whose tools may come, change and go.
    """

    def __init__(
        self,
        workspace: Workspace,
        backgrounds: Backgrounds,
        *,
        trusted: bool,
        servers: Servers | None = None,
    ) -> None:
        self._servers = servers
        self.offer: Callable[[Sequence[ServerTool]], None] = lambda tools: None
        """Has the next request offer these tools of servers."""
        self._said: list[str] = []
        self._workspace = workspace
        self._backgrounds = backgrounds
        self._trusted = trusted
        self._touched: dict[str, None] = {}
        self._known: dict[str, bool] = {}
        """Folders that were looked into, and whether they have instructions."""

    def say(self, text: str) -> None:
        """Have this told at the next boundary."""
        self._said.append(text)

    def touched(self, effects: Sequence[Effect]) -> None:
        """A call with these effects ran."""
        if not self._trusted:
            return
        base = self._workspace.cwd.rstrip("/") + "/"
        for effect in effects:
            if effect.kind in ("read", "write") and effect.target.startswith(base):
                parts = effect.target[len(base) :].split("/")
                for depth in range(1, len(parts) + 1):
                    folder = "/".join(parts[:depth])
                    if self._known.get(folder, True):
                        self._touched[folder] = None

    def collect(self, history: Sequence[Message]) -> list[str]:
        """See `harness.ports.News`."""
        told, self._said = self._said, []
        told += [f"[{ended_line(one)}; process read shows its output]" for one in self._backgrounds.ended()]
        if self._servers is not None and (news := self._servers.news()):
            self.offer(self._servers.take())
            told += [f"[{line}]" for line in news]
        if not self._touched:
            return told
        folders, self._touched = list(self._touched), {}
        said = {m.text.partition("\n")[0] for m in history if isinstance(m, Notice)}
        for folder in folders:
            if not os.path.isdir(os.path.join(self._workspace.cwd, folder)):
                continue
            notes: list[str] = []
            found = notes_of(self._workspace, folder, notes)
            self._known[folder] = found is not None
            if found is None:
                continue
            path, text = found
            head = f"Notes by the project's authors for what lies below {folder}/, from {path}:"
            if head not in said:
                told.append(f"{head}\n\n{_cut(text.strip())}")
        return told


def _cut(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= NESTED_BYTES:
        return text
    shown = data[:NESTED_BYTES].decode("utf-8", "ignore")
    return f"{shown}\n[cut here: {len(data) - len(shown.encode()):,} bytes more; read the file for the rest]"
