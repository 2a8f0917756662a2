"""Listing one directory."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from wisp.messages.codec import clean
from wisp.messages.tool import Replay, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, RunContext
from wisp.tools.render import clip
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import Target, failures, relative, to_read
from wisp.workspace.errors import refusal, shown
from wisp.workspace.root import Workspace


class LsArguments(msgspec.Struct, frozen=True):
    """What `ls` takes."""

    path: str = "."
    all: bool = False


class LsTool:
    """Lists names, directories with a slash."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.spec = ToolSpec("ls", "List a directory; all shows hidden names.", schema_of(LsArguments))

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what would be listed."""
        args = decode(LsArguments, arguments, tool="ls")
        target = to_read(self._workspace, args.path)
        return Prepared(
            tool="ls",
            arguments=msgspec.to_builtins(args),
            effects=(target.effect("read"),),
            run=lambda context: self._run(target, args, context),
            summary=f"ls {relative(self._workspace, target.path)}",
        )

    def _run(self, target: Target, args: LsArguments, context: RunContext) -> ToolOutcome:
        with failures(args.path):
            context.stop.check()
            fd, _ = self._workspace.open_directory(target.place)
            try:
                with os.scandir(fd) as found:
                    rows = sorted(
                        (entry.name, _row(entry, fd)) for entry in found if args.all or entry.name[:1] != "."
                    )
            except OSError as exc:
                raise refusal(exc, target.path) from None
            finally:
                os.close(fd)
        if not rows:
            return plain("[the directory is empty]" if args.all else "[nothing but hidden names, if any]")
        clipped = clip([row for _, row in rows])
        notes = []
        if clipped.lines < len(rows):
            notes.append(f"[the first {clipped.lines:,} of {len(rows):,} names; use find with a pattern]")
        return plain("\n".join([clean(clipped.text), *notes]), names=len(rows))


def _row(entry: os.DirEntry[str], fd: int) -> str:
    name = shown(entry.name)
    if entry.is_symlink():
        try:
            return f"{name} -> {shown(os.readlink(entry.name, dir_fd=fd))}"
        except OSError:
            return f"{name} -> ?"
    return name + "/" if entry.is_dir(follow_symlinks=False) else name
