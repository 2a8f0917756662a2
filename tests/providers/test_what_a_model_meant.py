"""An answer without a word is asked for again; a tool is known also in another harness's notation."""

import pytest
from providers.golden import AFTER_A_CALL, played
from providers.test_halves import TEXTS, THOUGHTS, chat_arguments, messages

from wisp.messages.tool import ToolSpec
from wisp.providers.events import Failed, Finished, Retrying
from wisp.providers.toolnames import ToolNames

TOOLS = ("bash", "read", "web_fetch", "mcp__a__Run", "mcp__a__run")


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("said", [[], ["  "], ["\n", "\t\n"]])
def test_an_answer_without_a_word_is_asked_for_again_and_is_a_failure_in_the_end(name, said):
    letter, made = TEXTS[name]
    events = played(letter, made(said), retries=2)
    assert sum(isinstance(event, Retrying) for event in events) == 2
    assert isinstance(events[-1], Failed)
    assert events[-1].message == "the model gave an empty answer"


@pytest.mark.parametrize("name", THOUGHTS)
def test_thoughts_alone_are_no_answer(name):
    letter, made = THOUGHTS[name]
    assert isinstance(played(letter, made(["hm"]))[-1], Failed)


@pytest.mark.parametrize("name", TEXTS)
def test_after_the_results_of_tools_a_model_may_have_nothing_to_say(name):
    letter, made = TEXTS[name]
    assert isinstance(played(letter, made([]), history=AFTER_A_CALL)[-1], Finished)


@pytest.mark.parametrize("stop", ["refusal", "max_tokens"])
def test_an_answer_that_ended_for_another_reason_is_what_it_is(stop):
    made = messages({"type": "text", "text": ""}, "text_delta", "text", stop)
    assert isinstance(played("A", made([]))[-1], Finished)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("functions.bash", "bash"),
        ("bash<|channel|>commentary", "bash"),
        ("functions.read<|constrain|>json", "read"),
        ("default_api:read", "read"),
        ("Bash", "bash"),
        ("WEB_FETCH", "web_fetch"),
        ("mcp__a__Run", "mcp__a__Run"),
        # more than one, or none
        ("MCP__A__RUN", "MCP__A__RUN"),
        ("functions.functions", "functions.functions"),
        ("other.bash", "other.bash"),
        ("bas", "bas"),
        ("bash2", "bash2"),
        ("b\u0430sh", "b\u0430sh"),
        ("", ""),
    ],
)
def test_a_name_is_the_one_tool_it_can_mean(said, meant):
    assert ToolNames({}, TOOLS).own(said) == meant


def test_a_name_that_was_changed_for_the_wire_comes_back_also_with_a_namespace():
    names = ToolNames({"my_tool_1": "my.tool"}, ("my.tool",))
    assert {names.own(said) for said in ("my_tool_1", "functions.my_tool_1", "my.tool")} == {"my.tool"}


def test_the_call_in_the_history_has_the_tools_own_name():
    data = chat_arguments(['{"command":"ls"}']).replace(b'"bash"', b'"functions.bash"')
    tools = (ToolSpec("bash", "", {"type": "object"}),)
    events = played("O", data, tools=tools)
    assert [call.name for call in events[-1].message.calls] == ["bash"]
