"""What a lawful history is."""

import itertools

from wisp.messages.content import Text, ToolCall
from wisp.messages.laws import open_calls, violations
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, user


def asks(*ids: str) -> AssistantMessage:
    return AssistantMessage(tuple(ToolCall(name, "read") for name in ids), stop="tool_calls")


def answers(call_id: str) -> ToolResult:
    return ToolResult(call_id, "read", (Text("x"),))


SAID = AssistantMessage((Text("hello"),))


def test_lawful_histories_have_no_violations() -> None:
    for history in (
        [],
        [user("a")],
        [user("a"), SAID],
        [Notice("n"), SAID, user("b"), SAID],
        [user("a"), asks("1", "2"), answers("1"), answers("2"), SAID],
        [user("a"), asks("1"), answers("1"), asks("1"), answers("1")],
        [user("a"), user("b")],
    ):
        assert violations(history) == []
        assert open_calls(history) == ()


def test_each_breach_is_found() -> None:
    for history, word in (
        ([SAID], "cannot begin"),
        ([answers("1")], "answers no open call"),
        ([user("a"), answers("1")], "answers no open call"),
        ([user("a"), asks("1")], "has no result"),
        ([user("a"), asks("1"), user("b")], "left without a result"),
        ([user("a"), asks("1"), SAID], "left without a result"),
        ([user("a"), asks("1"), answers("1"), answers("1")], "answers no open call"),
        ([user("a"), asks("1", "2"), answers("2"), answers("1")], "out of call order"),
        ([user("a"), asks("1", "1"), answers("1"), answers("1")], "used twice"),
        ([user("a"), asks("1"), answers("2"), answers("1")], "answers no open call"),
    ):
        assert any(word in sentence for sentence in violations(history)), history


def test_a_history_is_lawful_exactly_when_a_plain_second_reading_says_so() -> None:
    pieces: list[Message] = [user("u"), SAID, asks("1"), asks("1", "2"), answers("1"), answers("2")]
    for length in range(5):
        for history in itertools.product(pieces, repeat=length):
            assert (violations(history) == []) is lawful(list(history)), history


def lawful(history: list[Message]) -> bool:
    """Second implementation, by consuming the history as a sentence of a grammar."""
    if history and not isinstance(history[0], type(user("u"))):
        return False
    while history:
        head = history.pop(0)
        if isinstance(head, ToolResult):
            return False
        if isinstance(head, AssistantMessage):
            for call in head.calls:
                if not history or getattr(history.pop(0), "call_id", None) != call.id:
                    return False
    return True


def test_open_calls_are_those_of_the_last_answer_without_a_result() -> None:
    assert open_calls([user("a"), asks("1", "2"), answers("2")]) == ("1",)
    assert open_calls([user("a"), asks("1"), user("b")]) == ()
