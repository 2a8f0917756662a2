"""Loading a skill: its instructions first, a file that belongs to it later."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import msgspec

from wisp.messages.codec import clean
from wisp.messages.tool import Effect, Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, RunContext
from wisp.tools.render import MAX_BYTES, clip
from wisp.tools.schema import decode, schema_of
from wisp.tools.target import failures


class Shelf(Protocol):
    """Where skills are kept; whoever builds it has looked at trust."""

    def names(self) -> list[str]:
        """Those that the model may load."""
        ...

    def folder(self, name: str) -> str:
        """Absolute path of a skill's folder."""
        ...

    def body(self, name: str) -> str:
        """Its instructions, with where its folder is and what else is in it.  Raises `Refused`."""
        ...

    def resource(self, name: str, path: str, limit: int) -> bytes:
        """A file of it, never one outside its folder.  Raises `Refused`."""
        ...


class SkillArguments(msgspec.Struct, frozen=True):
    """What `skill` takes."""

    name: str
    resource: Annotated[str, msgspec.Meta(description="A file of the skill, instead of its text")] = ""


class SkillTool:
    """Gives the model a skill's text, or one file of its folder."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.spec = ToolSpec(
            "skill", "Load a skill's instructions, or a file of it.", schema_of(SkillArguments)
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what would be read."""
        args = decode(SkillArguments, arguments, tool="skill")
        names = self._shelf.names()
        if args.name not in names:
            raise ToolFailure(
                "not_found", f"there is no skill {args.name!r}; the skills are: {', '.join(names) or 'none'}"
            )
        return Prepared(
            tool="skill",
            arguments=msgspec.to_builtins(args),
            effects=(Effect("read", clean(self._shelf.folder(args.name))),),
            run=lambda context: self._run(args, context),
            summary=f"skill {args.name} {args.resource}".rstrip(),
        )

    def _run(self, args: SkillArguments, context: RunContext) -> ToolOutcome:
        context.stop.check()
        with failures(args.resource or args.name):
            if not args.resource:
                return plain(clean(self._shelf.body(args.name)), skill=args.name)
            data = self._shelf.resource(args.name, args.resource, 10 * MAX_BYTES)
        if b"\0" in data:
            raise ToolFailure("binary", f"{args.resource} is not text; use it from a command by its path")
        lines = data.decode("utf-8", "replace").splitlines()
        clipped = clip(lines)
        cut = f"\n[the first {clipped.lines:,} of {len(lines):,} lines]" if clipped.lines < len(lines) else ""
        return plain(clean(clipped.text) + cut, skill=args.name, resource=args.resource)
