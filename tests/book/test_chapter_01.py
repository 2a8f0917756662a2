"""Promises of chapter 1: the loop, its budget, its errors, and the chapter's exercise."""

import pytest
from examples.crafting_agents import checkpoint_01, scripted
from examples.crafting_agents.core import (
    Message,
    ScriptedProvider,
    ScriptMismatch,
    ScriptStep,
    ToolCall,
    ToolFailure,
    ToolSpec,
    run_agent,
)

TRACE = """\
turn 1: Locate the function.
call 1: read {'path': 'sum.py'}
result 1: error: use read with path='calculator.py'
turn 2: Try the path from the error.
call 2: read {'path': 'calculator.py'}
result 2: def add(a, b):
    return a - b

turn 3: add subtracts b. It needs addition; no file has been changed.
stopped: model_finished
"""
DIAGNOSIS = "add subtracts b. It needs addition; no file has been changed."


def silent(line: str) -> None:
    """A report that shows nothing."""


def read(call_id: str, path: str) -> ToolCall:
    return ToolCall(call_id, "read", {"path": path})


class Fixed:
    """A provider that keeps what it was asked and always gives one answer."""

    def __init__(self, answer: Message) -> None:
        self.answer = answer
        self.asked: list[tuple[tuple[Message, ...], object]] = []

    async def complete(self, history, tools):
        self.asked.append((history, tools))
        return self.answer


async def test_the_checkpoint_prints_the_trace_of_the_book(capsys):
    await checkpoint_01.main()

    assert capsys.readouterr().out == TRACE


async def test_one_turn_keeps_the_failed_read_and_makes_no_second_request():
    result = await run_agent(
        checkpoint_01.PROMPT,
        checkpoint_01.make_provider(),
        checkpoint_01.TOOLS,
        checkpoint_01.execute,
        max_turns=1,
        report=silent,
    )

    assert result.stop_reason == "turn_limit"
    assert result.history[-1] == Message(
        "tool", "error: use read with path='calculator.py'", tool_call_id="1"
    )
    assert DIAGNOSIS not in [message.content for message in result.history]


def exercise_script() -> list[ScriptStep]:
    """The chapter's exercise: a second failing read before the one that succeeds."""
    return [
        ScriptStep(Message("assistant", "First guess.", (read("a", "sum.py"),))),
        ScriptStep(Message("assistant", "Second guess.", (read("b", "math.py"),)), after="error: use read"),
        ScriptStep(
            Message("assistant", "As told.", (read("c", "calculator.py"),)), after="path='calculator.py'"
        ),
        ScriptStep(Message("assistant", DIAGNOSIS), after="return a - b"),
    ]


async def run_exercise(max_turns: int):
    lines: list[str] = []
    result = await run_agent(
        checkpoint_01.PROMPT,
        ScriptedProvider(exercise_script()),
        checkpoint_01.TOOLS,
        checkpoint_01.execute,
        max_turns=max_turns,
        report=lines.append,
    )
    return result, lines


async def test_exercise_gives_four_turns_three_correlated_results_and_the_same_diagnosis():
    result, lines = await run_exercise(max_turns=10)

    assert sum(line.startswith("turn ") for line in lines) == 4
    assert [row.tool_call_id for row in result.history if row.role == "tool"] == ["a", "b", "c"]
    assert [row.content[:5] for row in result.history if row.role == "tool"] == ["error", "error", "def a"]
    assert Message("assistant", DIAGNOSIS) == result.history[-1]
    assert result.stop_reason == "model_finished"


@pytest.mark.parametrize("max_turns", [1, 2, 3])
async def test_exercise_with_a_lower_budget_never_emits_the_diagnosis(max_turns):
    result, lines = await run_exercise(max_turns)

    assert result.stop_reason == "turn_limit"
    assert max_turns == sum(row.role == "tool" for row in result.history)
    assert not any(DIAGNOSIS in line for line in lines)


@pytest.mark.parametrize("max_turns", [0, -1])
async def test_a_budget_that_is_not_positive_is_refused_before_any_request(max_turns):
    provider = Fixed(Message("assistant", "never"))

    with pytest.raises(ValueError, match="max_turns"):
        await run_agent("go", provider, (), str, max_turns=max_turns, report=silent)
    assert provider.asked == []


@pytest.mark.parametrize("role", ["user", "system", "tool"])
async def test_an_answer_in_another_role_is_refused(role):
    with pytest.raises(ValueError, match="assistant"):
        await run_agent("go", Fixed(Message(role, "hm")), (), str, report=silent)


async def test_instructions_come_once_and_before_the_prompt():
    provider = ScriptedProvider(exercise_script())
    result = await run_agent(
        "go",
        provider,
        checkpoint_01.TOOLS,
        checkpoint_01.execute,
        instructions=("one", "two"),
        report=silent,
    )

    expected = [Message("system", "one"), Message("system", "two"), Message("user", "go")]
    assert expected == list(result.history[:3])
    assert sum(row.role == "system" for row in result.history) == 2


async def test_every_request_carries_the_catalog_and_a_history_that_cannot_be_rewritten():
    tools = (ToolSpec("read", "Read.", ("path",)),)
    provider = Fixed(Message("assistant", "again", (read("x", "sum.py"),)))
    await run_agent("go", provider, tools, checkpoint_01.execute, max_turns=3, report=silent)

    assert [len(history) for history, _ in provider.asked] == [1, 3, 5]
    assert all(isinstance(history, tuple) and sent is tools for history, sent in provider.asked)


async def test_calls_of_one_message_run_in_order_and_keep_their_own_ids():
    done: list[str] = []

    def execute(call: ToolCall) -> str:
        done.append(call.id)
        if call.id == "second":
            raise ToolFailure("no")
        return f"result of {call.id}"

    calls = tuple(read(name, "same.py") for name in ("first", "second", "third"))
    steps = [ScriptStep(Message("assistant", "all", calls)), ScriptStep(Message("assistant", "end"))]
    result = await run_agent("go", ScriptedProvider(steps), (), execute, report=silent)

    assert done == ["first", "second", "third"]
    assert [(row.tool_call_id, row.content) for row in result.history if row.role == "tool"] == [
        ("first", "result of first"),
        ("second", "error: no"),
        ("third", "result of third"),
    ]


async def test_a_bug_in_an_executor_is_not_shown_to_the_model():
    def execute(call: ToolCall) -> str:
        raise LookupError("a bug")

    with pytest.raises(LookupError, match="a bug"):
        await run_agent("go", checkpoint_01.make_provider(), (), execute, report=silent)


async def test_errors_of_the_provider_and_of_the_observer_propagate():
    class Broken:
        async def complete(self, history, tools):
            raise OSError("line cut")

    def report(line: str) -> None:
        raise LookupError("observer")

    with pytest.raises(OSError, match="line cut"):
        await run_agent("go", Broken(), (), str, report=silent)
    with pytest.raises(LookupError, match="observer"):
        await run_agent("go", Fixed(Message("assistant", "x")), (), str, report=report)


async def test_a_script_fails_when_the_observation_differs():
    with pytest.raises(ScriptMismatch, match="error: use read"):
        await run_agent("go", checkpoint_01.make_provider(), (), lambda call: "something else", report=silent)


async def test_a_script_fails_when_it_is_asked_once_too_often():
    steps = [ScriptStep(Message("assistant", "once", (read("1", "calculator.py"),)))]

    with pytest.raises(ScriptMismatch, match="answer 2"):
        await run_agent("go", ScriptedProvider(steps), (), checkpoint_01.execute, report=silent)


def test_the_scripted_provider_has_one_definition_under_two_addresses():
    assert scripted.ScriptedProvider is ScriptedProvider
    assert scripted.ScriptStep is ScriptStep
