"""A conversation of any length fits its window, keeps its facts, and never becomes unlawful."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agent_world import FakeTool, gate
from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.context.estimate import tokens_of
from wisp.harness.runner import AgentHarness
from wisp.harness.toolbox import Toolbox
from wisp.loop.events import (
    CompactionCompleted,
    CompactionStarted,
    ContextOverflow,
    ContextPressure,
    ErrorReported,
    Event,
    TurnCompleted,
)
from wisp.loop.limits import Limits
from wisp.messages.content import Text, ToolCall
from wisp.messages.ids import FixedClock
from wisp.messages.laws import violations
from wisp.messages.message import AssistantMessage, Message, Native, ToolResult, UserMessage, user
from wisp.messages.tool import plain
from wisp.messages.usage import Usage
from wisp.providers.base import ModelInfo, ModelRequest, Provider
from wisp.providers.events import Finished, ProviderEvent, Started
from wisp.providers.scripted import ScriptedProvider, ScriptStep, call
from wisp.session.compact import files_of, groups, plan, shortened, summary_text
from wisp.session.fold import Fold
from wisp.session.records import CompactionRecord
from wisp.session.runner import CodingSession
from wisp.session.storage import MemoryStorage


def _history(sizes: list[int]) -> list[Message]:
    """Prompts and calls in turn; a size is a result's length in characters."""
    found: list[Message] = []
    for number, size in enumerate(sizes):
        if number % 4 == 0:
            found.append(UserMessage((Text(f"please do {number}"),), f"u{number}"))
        calls = (ToolCall(f"c{number}", "read", f'{{"path": "f{number}.py"}}'),)
        found.append(AssistantMessage((Text("I look."), *calls), f"a{number}", "tool_calls"))
        found.append(ToolResult(f"c{number}", "read", (Text("x" * size),), id=f"r{number}"))
    return found


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=30), st.integers(500, 60_000), st.booleans())
@settings(max_examples=2000 if os.environ.get("WISP_SOAK") else 300, deadline=None)
def test_a_plan_never_splits_a_call_from_its_result_and_never_grows(
    sizes: list[int], room: int, force: bool
) -> None:
    """At every window size; what stays is lawful, the newest exchange among it."""
    history = _history(sizes)
    found = plan(history, room, tokens_of, force=force)
    if found is None:
        return
    first = found.kept[0].id if found.summarise else ""
    made = shortened(history, "short" if found.summarise else "", first, found.pruned)

    assert made is not None
    assert [v for v in violations(made) if "cannot begin" not in v] == []
    assert sum(map(tokens_of, made)) <= sum(map(tokens_of, history))
    assert made[-1].id == history[-1].id
    assert [m.id for m in made if m.id != "summary"] == [m.id for m in history[-len(found.kept) :]]
    assert {m.id for m in found.summarise} | {m.id for m in found.kept} == {m.id for m in history}
    assert found.summarise == () or len(groups(found.kept)) >= 1


def test_the_summary_keeps_what_the_user_said_and_which_files_changed() -> None:
    """These do not depend on what a model makes of it, nor on how often it is shortened."""
    history: list[Message] = [
        user("the secret word is heron"),
        AssistantMessage(
            (ToolCall("c1", "edit", '{"path": "a.py"}'), ToolCall("c2", "write", '{"path": "bad.py"}')),
            "a",
            "tool_calls",
        ),
        ToolResult("c1", "edit", (Text("ok"),), id="r1"),
        ToolResult("c2", "write", (Text("no"),), True, "denied", "r2"),
    ]
    later = [*history, user("and be quick"), AssistantMessage((Text("yes"),), "kept")]
    once = summary_text("", history, "none", 4_000)
    twice = summary_text("a model's words", later, "kept", 4_000)

    assert files_of(history) == ([], ["a.py"])
    for text in (once, twice):
        assert "heron" in text
        assert "a.py" in text
        assert "bad.py" not in text
    assert "be quick" in twice


def _tool(name: str, output: str) -> FakeTool:
    return FakeTool(name, blocking=lambda arguments, context: plain(output))


class World:
    """A session whose model is scripted and whose tool returns what it is told."""

    def __init__(
        self,
        provider: ScriptedProvider,
        window: int,
        output: str = "",
        storage: MemoryStorage | None = None,
        compat: dict[str, Any] | None = None,
        asked: Provider | None = None,
    ) -> None:
        self.storage = storage or MemoryStorage()
        self.session = CodingSession(self.storage, FixedClock(), cwd="/w", session_id="s")
        self.provider = provider
        tool = _tool("look", output) if output else FakeTool("look")
        model = ModelInfo("m", context_window=window, compat=compat or {})
        self.session.attach(
            lambda history: AgentHarness(
                asked or provider,
                model,
                Toolbox([tool], gate("full")),
                FixedClock(),
                recorder=self.session,
                history=history,
                fitter=self.session.window,
            )
        )

    async def say(self, text: str, limits: Limits | None = None) -> list[Event]:
        return [event async for event in self.session.prompt(user(text), limits=limits)]


def _looks(count: int, usage: Usage | None = None) -> list[ScriptStep]:
    return [ScriptStep("I look.", calls=(call("look", x=str(n)),), usage=usage) for n in range(count)]


def _text_of(request: ModelRequest) -> str:
    return "\n".join(getattr(m, "text", "") for m in request.messages)


def _sizes(provider: ScriptedProvider) -> list[int]:
    return [sum(map(tokens_of, request.messages)) for request in provider.requests]


async def test_old_outputs_go_first_without_asking_the_model() -> None:
    """Enough room is made by cutting outputs to a line; no extra request."""
    provider = ScriptedProvider([*_looks(12), ScriptStep("done")])
    world = World(provider, window=16_000, output="y" * 6_000)
    events = await world.say("go")

    outcomes = [e.outcome for e in events if isinstance(e, CompactionCompleted)]
    assert outcomes and set(outcomes) == {"completed"}
    assert len(provider.requests) == 13, "no summary was asked for"
    assert max(_sizes(provider)) < 16_000
    pressed = [n for n, e in enumerate(events) if isinstance(e, ContextPressure)]
    assert pressed, "the reason was told first"
    for n in pressed:
        pressure, then = events[n], events[n + 1]
        assert isinstance(pressure, ContextPressure)
        assert isinstance(then, CompactionStarted) and then.tokens_before == pressure.observed
        assert (pressure.window, pressure.remaining) == (16_000, 16_000 - pressure.observed)
        assert pressure.remaining < 4_000, "a quarter is kept free"
    assert "removed to save space" in _text_of(provider.requests[-1])


async def test_a_summary_replaces_the_older_part_and_a_resumed_session_has_it() -> None:
    """The request after it is small, the file holds everything, and the next process goes on from there."""
    steps: list[ScriptStep | str] = [f"answer {n} " + "words " * 700 for n in range(12)]
    steps[7:7] = ["the model's account"]
    provider = ScriptedProvider(steps)
    world = World(provider, window=10_000)
    events: list[Event] = []
    for number in range(11):
        events += await world.say(f"prompt {number}: remember heron{number}")

    assert {e.reason for e in events if isinstance(e, CompactionStarted)} == {"threshold"}
    assert "the model's account" in _text_of(provider.requests[-1])
    assert "heron0" in _text_of(provider.requests[-1])
    assert max(_sizes(provider)) < 10_000
    state = world.session.state
    assert len([m for m in state.messages if isinstance(m, UserMessage)]) == 11
    again = World(ScriptedProvider(["on"]), 10_000, storage=MemoryStorage(world.storage.records))
    await again.say("next")
    assert [m.id for m in again.provider.requests[0].messages][:-1] == [m.id for m in state.context]
    assert Fold(world.storage.records).state.context == state.context, "live and at replay the same"


async def test_a_fact_of_turn_3_the_changed_files_and_a_skill_are_still_there_in_request_2000() -> None:
    """2,000 turns in a window of 8,000 tokens; the summary requests come on top."""

    class Endless(ScriptedProvider):
        """Calls and calls; asked for a summary, it gives a short one."""

        def __init__(self) -> None:
            super().__init__([])
            self.turns = 0

        async def stream(self, request: ModelRequest):  # type: ignore[no-untyped-def,override]
            if request.tools:
                self.turns += 1
                self.last = request
                name, path = {5: ("edit", "kept.py"), 6: ("skill", "")}.get(
                    self.turns, ("look", f"f{self.turns}")
                )
                given = f'{{"path": "{path}", "x": "{self.turns}"}}' if path else '{"name": "release"}'
                calls = (ToolCall(f"c{self.turns}", name, given),)
                step = ScriptStep("I look.", calls=calls) if self.turns < 2000 else ScriptStep("done")
            else:
                step = ScriptStep("It goes on.")
            one = ScriptedProvider([step])
            async for event in one.stream(request):
                yield event

    provider = Endless()
    storage = MemoryStorage()
    session = CodingSession(storage, FixedClock(), cwd="/w", session_id="s")
    tools = [_tool("look", "z" * 400), _tool("edit", "ok"), _tool("skill", "Tag only on Tuesdays. " * 20)]
    session.attach(
        lambda history: AgentHarness(
            provider,
            ModelInfo("m", context_window=8_000),
            Toolbox(tools, gate("full")),
            FixedClock(),
            recorder=session,
            history=history,
            fitter=session.window,
        )
    )
    planted = False
    async for event in session.prompt(user("start")):
        if isinstance(event, TurnCompleted) and event.turn == 2 and not planted:
            planted = True
            assert session.harness is not None
            session.harness.steer("the word is kingfisher")

    assert provider.turns == 2000
    text = _text_of(provider.last)
    assert "kingfisher" in text
    assert "kept.py" in text
    assert "skill release was loaded and still holds:\nTag only on Tuesdays." in text
    assert sum(map(tokens_of, provider.last.messages)) < 8_000
    assert violations(session.state.messages) == []


async def test_an_overflow_shortens_once_and_asks_again() -> None:
    """The failed turn is not the end; it counts as a request."""
    steps = [*_looks(6), ScriptStep(fail="too_long"), "account", ScriptStep("done")]
    provider = ScriptedProvider(steps)
    world = World(provider, window=1_000_000, output="q" * 9_000)
    events = await world.say("go")

    turns = [(e.turn, e.outcome, e.will_retry) for e in events if isinstance(e, TurnCompleted)]
    assert turns[6:] == [(7, "failed", True), (8, "completed", False)]
    told = [(e.turn, e.window) for e in events if isinstance(e, ContextOverflow)]
    assert told == [(7, 1_000_000)]
    assert getattr(events[-1], "stop_reason", "") == "model_finished"


async def test_a_second_overflow_ends_the_run_as_a_provider_failure() -> None:
    """No loop of shortening."""
    steps = [
        *_looks(6),
        ScriptStep(fail="too_long"),
        ScriptStep("short"),
        ScriptStep(fail="too_long"),
        "x",
        "y",
    ]
    provider = ScriptedProvider(steps)
    world = World(provider, window=1_000_000, output="q" * 9_000)
    events = await world.say("go")

    assert getattr(events[-1], "stop_reason", "") == "provider_failure"


async def test_a_second_overflow_says_what_takes_the_space() -> None:
    """The sources with their estimates, and the largest message."""
    steps = [*_looks(6), ScriptStep(fail="too_long"), ScriptStep("short"), ScriptStep(fail="too_long")]
    events = await World(ScriptedProvider(steps), window=1_000_000, output="q" * 9_000).say("go")

    error = getattr(events[-1], "error", "")
    assert "estimated tokens by source" in error
    assert "tool results" in error
    assert "largest single message" in error


async def test_a_throttled_request_is_never_taken_for_an_overflow() -> None:
    """Shortening does not help against a rate limit."""
    provider = ScriptedProvider([*_looks(3), ScriptStep(fail="overload")])
    events = await World(provider, 1_000_000, output="q" * 9_000).say("go")

    assert not [e for e in events if isinstance(e, CompactionStarted)]
    assert getattr(events[-1], "stop_reason", "") == "provider_failure"


async def test_a_window_that_the_frame_alone_fills_is_said_once_and_never_loops() -> None:
    """B081: instructions and tools leave no room."""
    provider = ScriptedProvider([*_looks(5), "done"])
    events = await World(provider, window=600, output="q" * 2_000).say("go")

    said = [e for e in events if isinstance(e, ErrorReported)]
    assert len(said) == 1
    assert len(provider.requests) == 6


async def test_the_providers_own_figure_triggers_and_a_stale_one_does_not_trigger_again() -> None:
    """B082: usage from before the compaction no longer counts."""
    heavy = Usage(13_000, 10, 0, 0, 0)
    provider = ScriptedProvider([*_looks(5), *_looks(1, heavy), *_looks(2), "done"])
    events = await World(provider, window=16_000, output="y" * 3_000).say("go")

    assert len([e for e in events if isinstance(e, CompactionStarted)]) == 1
    assert getattr(events[-1], "stop_reason", "") == "model_finished"


async def test_a_failed_summary_still_leaves_a_usable_context_with_the_facts() -> None:
    """B084: the summary request fails; prompts and files are kept all the same."""
    steps: list[ScriptStep | str] = [f"answer {n} " + "words " * 700 for n in range(12)]
    steps[7:7] = [ScriptStep(fail="overload")]
    provider = ScriptedProvider(steps)
    world = World(provider, window=10_000)
    events: list[Event] = []
    for number in range(10):
        events += await world.say(f"prompt {number}: heron{number}")

    assert [e for e in events if isinstance(e, ErrorReported)]
    assert "heron0" in _text_of(provider.requests[-1])
    assert max(_sizes(provider)) < 10_000


async def test_a_person_can_ask_for_it() -> None:
    """Whatever the size, before the next request, with instructions for the summary."""
    provider = ScriptedProvider(["one", "two", "three", "the account", "four"])
    world = World(provider, window=100_000)
    for text in ("first", "second", "third"):
        await world.say(text + " " + "detail " * 300)
    world.session.window.ask_for("keep the port number")
    events = await world.say("fourth")

    assert [e.reason for e in events if isinstance(e, CompactionStarted)] == ["manual"]
    assert "keep the port number" in _text_of(provider.requests[3])
    assert "the account" in _text_of(provider.requests[4])


@pytest.mark.parametrize(
    ("summary", "usage"),
    [
        (ScriptStep("the account"), Usage()),
        (ScriptStep("the account", usage=Usage(900, 30, 0, 0, 0)), Usage(900, 30, 0, 0, 0)),
        (ScriptStep("half of", fail="overload"), Usage()),
    ],
)
async def test_what_a_summary_cost_is_not_taken_for_nothing(summary: ScriptStep, usage: Usage) -> None:
    """Figures that the service does not give are unknown, never zero."""
    provider = ScriptedProvider(["one", "two", "three", summary, "four"])
    world = World(provider, window=100_000)
    for text in ("first", "second", "third"):
        await world.say(text + " " + "detail " * 300)
    world.session.window.ask_for("")
    [told] = [e for e in await world.say("fourth") if isinstance(e, CompactionCompleted)]

    assert (told.usage, told.cost_usd) == (usage, None)  # the model's price is not known


WINDOWS = [*range(2_000, 12_000, 7 if os.environ.get("WISP_SOAK") else 333), 20_000, 33_000]


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
async def test_at_every_window_size_a_long_run_ends_normally(window: int, sealed: bool) -> None:
    """From 2,000 tokens up; with summaries, or the provider's own compaction where that is shorter."""

    class Talker(ScriptedProvider):
        """Forty calls, then done; summaries on request."""

        count = asked = 0

        async def stream(self, request: ModelRequest):  # type: ignore[no-untyped-def,override]
            if request.compact:
                self.asked += 1
                native = Native(
                    self.api, self.name, request.model.id, ('{"type":"compaction"}' + " " * 2_000,)
                )
                yield Started()
                yield Finished(AssistantMessage((), usage=Usage(9, 9), native=native))
                return
            if request.tools:
                self.count += 1
            step = (
                ScriptStep("done")
                if self.count > 40
                else ScriptStep("x", calls=(call("look", f"c{self.count}", x="1"),))
            )
            self.requests.append(request)
            async for event in ScriptedProvider([step if request.tools else ScriptStep("short")]).stream(
                request
            ):
                yield event

    provider = Talker([])
    world = World(provider, window, output="w" * 900, compat={"compaction": True} if sealed else {})
    events = await world.say("go")

    assert getattr(events[-1], "stop_reason", "") == "model_finished"
    assert bool(provider.asked) <= sealed
    assert not sealed or provider.asked or window > 4_500, "cutting outputs is enough in larger ones"
    assert Fold(world.storage.records).state.context == world.session.state.context
    asked = [r for r in provider.requests if r.tools]
    assert max(sum(map(tokens_of, r.messages)) for r in asked) < window
    assert all(violations(r.messages) == [] for r in asked)
    for event in events:
        if isinstance(event, CompactionCompleted):
            assert event.tokens_after <= event.tokens_before


def test_every_file_of_an_edit_and_a_skill_that_a_person_started_are_kept() -> None:
    """An edit may name a file in each part; `/name` begins a message of the user's."""
    parts = (
        '{"path": "a.py", "edits": [{"old_text": "x", "new_text": "y"}, {"path": "b.py", "old_text": "x"}]}'
    )
    told = "The user started skill /release. Its folder is /s. What it says:\n\nTag only on Tuesdays."
    history = [
        UserMessage((Text(told),), "m1"),
        AssistantMessage((ToolCall("c1", "edit", parts),), "m2"),
        ToolResult("c1", "edit", (Text("ok"),), id="m3"),
        UserMessage((Text("go on"),), "m4"),
    ]
    text = summary_text("", history, "m4", 1_000)
    assert "Files changed so far: a.py, b.py" in text
    assert "The skill release was loaded and still holds:" in text
    tight = summary_text("", history, "m4", 10)
    assert "to be loaded again where they matter: release" in tight and "still holds" not in tight


async def test_a_service_that_answers_instead_of_compacting_is_asked_once_and_a_summary_made() -> None:
    """A provider of an extension may not know the question."""
    provider = ScriptedProvider([])
    asked: list[ModelRequest] = []

    class Plain:
        name, api = "p", "scripted"

        async def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
            asked.append(request)
            step = "the account" if not request.tools and not request.compact else "words " * 700
            async for event in ScriptedProvider([step]).stream(request):
                yield event

    world = World(provider, 10_000, compat={"compaction": True}, output="x", asked=Plain())
    events: list[Event] = []
    for number in range(14):
        events += await world.say(f"prompt {number}")
    assert sum(request.compact for request in asked) == 1
    made = [r.body for r in world.storage.records if isinstance(r.body, CompactionRecord)]
    assert len(made) > 1
    assert {record.native for record in made} == {None}
    assert all("the account" in record.summary for record in made)
    assert [e for e in events if isinstance(e, ErrorReported) and "answered as to any request" in e.message]
