"""Asking the user, and keeping a list of what is to be done: two tools without effects on anything."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from wisp.messages.codec import clean
from wisp.messages.tool import Replay, ToolFailure, ToolOutcome, ToolSpec, plain
from wisp.tools.base import Prepared, RunContext
from wisp.tools.schema import decode, schema_of

MOST_OPTIONS, MOST_ITEMS = 8, 50


class AskArguments(msgspec.Struct, frozen=True):
    """What `ask_user` takes."""

    question: str
    options: Annotated[list[str], msgspec.Meta(description="Answers to choose from")] = []


class AskUserTool:
    """Puts one question to the user and waits for the answer."""

    parallel_safe = False
    replay: Replay = "never"

    def __init__(self) -> None:
        self.spec = ToolSpec(
            "ask_user",
            "Ask the user something only they can decide. Not for permission.",
            schema_of(AskArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what would be asked."""
        args = decode(AskArguments, arguments, tool="ask_user")
        if not args.question.strip():
            raise ToolFailure("invalid_arguments", "ask_user: the question is empty")
        if len(args.options) > MOST_OPTIONS:
            raise ToolFailure("invalid_arguments", f"ask_user: at most {MOST_OPTIONS} options")

        async def run(context: RunContext) -> ToolOutcome:
            if context.ask is None:
                raise ToolFailure(
                    "nobody", "nobody can be asked in this run; decide, and say what you assumed"
                )
            answer = await context.ask(clean(args.question), tuple(map(clean, args.options)))
            return plain(clean(answer) or "(the user gave an empty answer)")

        return Prepared("ask_user", msgspec.to_builtins(args), (), run, f"ask: {args.question[:80]}")


class Item(msgspec.Struct, frozen=True):
    """One thing to do."""

    text: str
    state: Literal["open", "doing", "done"] = "open"


class TodoArguments(msgspec.Struct, frozen=True):
    """What `todo` takes."""

    items: list[Item]


class TodoTool:
    """Replaces the list of what is to be done, which the user sees; the list lives in the conversation."""

    parallel_safe = False
    replay: Replay = "safe"

    def __init__(self) -> None:
        self.spec = ToolSpec(
            "todo",
            "Show the user your whole plan of a longer task, and its progress.",
            schema_of(TodoArguments),
        )

    def prepare(self, arguments: dict[str, Any]) -> Prepared:
        """Say what the list would be."""
        args = decode(TodoArguments, arguments, tool="todo")
        if len(args.items) > MOST_ITEMS:
            raise ToolFailure("invalid_arguments", f"todo: at most {MOST_ITEMS} items; put several into one")
        done = sum(item.state == "done" for item in args.items)
        doing = next((item.text for item in args.items if item.state == "doing"), "")
        said = f"{done} of {len(args.items)} done" + (f", now: {doing}" if doing else "")

        def run(context: RunContext) -> ToolOutcome:
            context.stop.check()
            return plain(said, items=msgspec.to_builtins(args.items))

        return Prepared("todo", msgspec.to_builtins(args), (), run, clean(f"todo: {said}"))
