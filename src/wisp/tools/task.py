"""Handing a part of the work to a subagent, which has a conversation of its own and answers with a report."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import msgspec

from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec
from wisp.tools.base import Prepared, RunContext
from wisp.tools.schema import decode, schema_of


class Helper(msgspec.Struct, frozen=True):
    """One kind of subagent, as the model is told of it."""

    name: str
    description: str


class Helpers(Protocol):
    """Whoever runs subagents."""

    def kinds(self) -> tuple[Helper, ...]:
        """Those that there are; never none."""
        ...

    async def run(self, name: str, label: str, prompt: str, context: RunContext) -> ToolOutcome:
        """Have one do `prompt`; its report, or what there is of it.

        Raises:
            ToolFailure: it could not begin.
            asyncio.CancelledError: the call was stopped; the subagent has ended too.
        """
        ...


class TaskArguments(msgspec.Struct, frozen=True):
    """What `task` takes."""

    description: Annotated[str, msgspec.Meta(description="Three to six words")]
    prompt: Annotated[str, msgspec.Meta(description="Everything it needs to know; it sees nothing else")]
    agent: str = ""


class TaskTool:
    """Runs a subagent.  A call has no effect of its own: each call of the subagent is judged by itself."""

    parallel_safe = True
    replay: Replay = "safe"

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers
        kinds = helpers.kinds()
        told = "; ".join(f"{kind.name}: {kind.description}" for kind in kinds)
        what = "Have a subagent do a part of the work and report. Several run at once."
        self.spec = ToolSpec(
            "task",
            f"{what} {told}",
            schema_of(TaskArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say who would do what."""
        args = decode(TaskArguments, arguments, tool="task")
        names = [kind.name for kind in self._helpers.kinds()]
        name = args.agent or names[0]
        if name not in names:
            raise ToolFailure(
                "not_found", f"there is no agent {args.agent!r}; the agents are: {', '.join(names)}"
            )
        if not args.prompt.strip():
            raise ToolFailure("invalid_arguments", "the prompt is empty; say what the subagent is to do")

        async def run(context: RunContext) -> ToolOutcome:
            return await self._helpers.run(name, args.description.strip(), args.prompt, context)

        return Prepared(
            tool="task",
            arguments={**msgspec.to_builtins(args), "agent": name},
            effects=(),
            run=run,
            summary=f"{name}: {args.description}".rstrip(": "),
        )
