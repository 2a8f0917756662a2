"""The scripted provider plays its steps lawfully and fails loudly when the run differs."""

import pytest

from wisp.messages.content import Text
from wisp.messages.message import ToolResult, user
from wisp.messages.usage import Usage
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.events import Failed, Finished, TextDelta
from wisp.providers.grammar import checked
from wisp.providers.scripted import ScriptedProvider, ScriptMismatch, ScriptStep, call, raw_call


async def play(provider, *messages):
    request = ModelRequest(ModelInfo("m"), messages or (user("go"),))
    return [event async for event in checked(provider.stream(request))]


async def test_a_step_is_streamed_in_deltas_and_finished_whole():
    step = ScriptStep("hello there", thinking="hm", calls=[call("read", path="a")], usage=Usage(1, 2))
    events = await play(ScriptedProvider([step], delta=3))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "hello there"
    message = events[-1].message
    assert (message.text, message.stop, message.usage) == ("hello there", "tool_calls", Usage(1, 2))
    assert [(c.id, c.name, c.arguments) for c in message.calls] == [("call_1_1", "read", '{"path":"a"}')]


async def test_a_bare_text_is_a_step():
    assert (await play(ScriptedProvider(["hi"])))[-1].message.text == "hi"


@pytest.mark.parametrize("after", ["return a - b", ["return", "a - b"], lambda results: len(results) == 1])
async def test_a_condition_that_holds_lets_the_step_play(after):
    provider = ScriptedProvider([ScriptStep(calls=[call("read")]), ScriptStep("ok", after=after)])
    message = (await play(provider))[-1].message
    result = ToolResult("call_1_1", "read", (Text("    return a - b"),))
    events = await play(provider, user("go"), message, result)
    assert isinstance(events[-1], Finished)
    assert provider.done


@pytest.mark.parametrize("after", ["return a + b", ["return", "nope"], lambda results: False])
async def test_a_condition_that_fails_stops_the_run(after):
    provider = ScriptedProvider([ScriptStep("ok", after=after)])
    with pytest.raises(ScriptMismatch):
        await play(provider, user("go"), ToolResult("x", "read", (Text("return a - b"),)))


async def test_a_script_that_is_over_says_so():
    provider = ScriptedProvider([])
    with pytest.raises(ScriptMismatch, match="0 steps"):
        await play(provider)


async def test_a_failure_step_fails_after_what_it_said():
    events = await play(ScriptedProvider([ScriptStep("half", fail="overload")]))
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable, failed.partial.text) == ("overload", True, "half")


async def test_broken_arguments_are_a_fault():
    events = await play(ScriptedProvider([ScriptStep(calls=[raw_call("read", '{"x"')])]))
    assert events[-1].message.calls[0].fault
