"""Each thing that an extension of Wisp can add, in its smallest form."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from wisp import ScriptedProvider, ScriptStep
from wisp.extensions import ModelInfo, ModelRequest, Registry, Say, tool

from .counting import Counter

WISP_API = 1


@tool(effect="read")
def count_words(text: str) -> str:
    """How many words a text has.

    Args:
        text: any text.
    """
    return f"{len(text.split())} words"


def extend(wisp: Registry) -> None:
    """Add everything; called once when a conversation is opened."""
    greeting = wisp.options.get("greeting", "hello")
    counter = Counter()

    def hello(typed: str) -> str:
        return f"{greeting}, {typed or 'you'}"

    async def review(typed: str) -> Say:
        return Say(f"Review {typed or 'the last change'} and name the three worst problems.")

    def no_drop(call: dict[str, Any]) -> dict[str, Any] | None:
        if "drop table" in str(call["tool_input"].get("command", "")).lower():
            return {"decision": "block", "reason": "tables are not dropped from here"}
        return None

    async def count(event: dict[str, Any]) -> None:
        counter.count(event["type"])

    def shorter(event: dict[str, Any]) -> str:
        return f"[{event['output']}]"

    wisp.tool(count_words)
    wisp.command("hello", hello, about="say hello", arguments="[NAME]")
    wisp.command("review-of", review, about="review something", arguments="[WHAT]")
    wisp.command("counts", lambda typed: counter.told(), about="events so far")
    wisp.hook("PreToolUse", no_drop, matcher="Bash")
    wisp.observe(count, types=["turn.completed", "agent.completed"])
    wisp.block(lambda: f"This folder is called {Path(wisp.cwd).name}.", title="the folder's name")
    wisp.renderer("count_words", shorter)
    wisp.provider("echo", Echo(), models=[ModelInfo("short", context_window=8_000)])


class Echo:
    """A model service that says what it was told; a real one would ask its service here."""

    name = "echo"
    api = "scripted"

    def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        """See `wisp.extensions.Provider`."""
        said = request.messages[-1].text
        return ScriptedProvider([ScriptStep(text=f"You said: {said}")]).stream(request)
