"""A corpus of hostile histories, each with what a strict service must not get to see."""

from wisp.messages.content import Image, Opaque, Text, Thinking, ToolCall
from wisp.messages.message import AssistantMessage, Native, Notice, ToolResult, UserMessage, user

PIXEL = Image(
    "image/png",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
)


def said(*blocks, stop="stop", native=None, **fields):
    return AssistantMessage(tuple(blocks), stop=stop, native=native, **fields)


def asked(call_id="c1", name="read", arguments='{"path":"a"}', **fields):
    return ToolCall(call_id, name, arguments, **fields)


def result(call_id="c1", *blocks, name="read", **fields):
    return ToolResult(call_id, name, blocks or (Text("content"),), **fields)


FOREIGN = Native("anthropic-messages", "elsewhere", "other-model")

HISTORIES = {
    "an answer and a follow-up": [user("a"), said(Text("b")), user("c")],
    "a call with its result": [user("a"), said(asked(), stop="tool_calls"), result()],
    "results out of order": [
        user("a"),
        said(asked("c1"), asked("c2"), stop="tool_calls"),
        result("c2"),
        result("c1"),
    ],
    "a call without a result": [user("a"), said(asked(), stop="tool_calls"), user("go on")],
    "one of two results missing": [
        user("a"),
        said(asked("c1"), asked("c2"), stop="tool_calls"),
        result("c2"),
        user("go on"),
    ],
    "a result that answers nothing": [user("a"), result("ghost"), user("b")],
    "a result twice": [user("a"), said(asked(), stop="tool_calls"), result(), result(), user("b")],
    "a result after the next user message": [
        user("a"),
        said(asked(), stop="tool_calls"),
        user("b"),
        result(),
    ],
    "text after a call": [
        user("a"),
        said(Thinking("t"), asked(), Text("and then"), stop="tool_calls"),
        result(),
    ],
    "an errored answer with a call and its result": [
        user("a"),
        said(asked(), stop="error", error="cut"),
        result(),
        user("b"),
    ],
    "an errored answer with a call that never ran": [
        user("a"),
        said(Text("I will"), asked(), stop="error", error="cut"),
        user("b"),
    ],
    "thinking only, aborted": [user("a"), said(Thinking("hm"), stop="cancelled"), user("b")],
    "thinking only, signed elsewhere": [user("a"), said(Thinking("hm", "sig"), native=FOREIGN), user("b")],
    "an empty answer": [user("a"), said(), user("b")],
    "an answer of blanks": [user("a"), said(Text("  \n")), user("b")],
    "redacted and unsigned thinking from elsewhere": [
        user("a"),
        said(Thinking("", redacted="xyz"), Thinking("x"), asked(), native=FOREIGN, stop="tool_calls"),
        result(),
    ],
    "unknown parts from elsewhere": [
        user("a"),
        said(Opaque("server_tool_use", '{"type":"server_tool_use","id":"s1"}'), Text("b"), native=FOREIGN),
        user("c"),
    ],
    "ids nobody allows": [
        user("a"),
        said(asked("call|fc_1é" + "x" * 90), stop="tool_calls"),
        result("call|fc_1é" + "x" * 90),
    ],
    "one id in two turns": [
        user("a"),
        said(asked("call_0"), stop="tool_calls"),
        result("call_0"),
        said(asked("call_0"), stop="tool_calls"),
        result("call_0"),
    ],
    "an empty id": [user("a"), said(asked(""), stop="tool_calls"), result("")],
    "a tool nobody could offer": [
        user("a"),
        said(asked("c1", "my.tool/é" * 20), stop="tool_calls"),
        result("c1", name="x"),
    ],
    "arguments that are no JSON": [user("a"), said(asked(arguments='{"x":'), stop="tool_calls"), result()],
    "lone surrogates everywhere": [
        user("a \ud83d b"),
        said(Text("c \udcff"), asked(arguments='{"x":"\ud83d"}'), stop="tool_calls"),
        result("c1", Text("cut \ud83d")),
        Notice("n \udc00"),
    ],
    "a result of nothing": [user("a"), said(asked(), stop="tool_calls"), ToolResult("c1", "read", ())],
    "a result of blanks": [user("a"), said(asked(), stop="tool_calls"), result("c1", Text(""))],
    "a failed result": [
        user("a"),
        said(asked(), stop="tool_calls"),
        result("c1", is_error=True, code="denied"),
    ],
    "a picture from a tool": [user("a"), said(asked(), stop="tool_calls"), result("c1", Text("p"), PIXEL)],
    "only a picture": [UserMessage((PIXEL,)), said(Text("b")), user("c")],
    "an empty user message": [user(""), said(Text("b")), user("c")],
    "steering after results": [
        user("a"),
        said(asked(), stop="tool_calls"),
        result(),
        user("stop that"),
        Notice("a file changed"),
    ],
    "a history that begins with the model": [said(Text("b")), user("c")],
    "a history that ends with the model": [user("a"), said(Text("b"))],
    "nothing at all": [],
}


MENDED = {
    "results out of order": ["put into the order of its calls"],
    "a call without a result": ["closed as interrupted"],
    "one of two results missing": ["closed as interrupted"],
    "a result that answers nothing": ["'ghost' of read answers no call"],
    "a result twice": ["more than one result"],
    "a result after the next user message": ["came late"],
    "text after a call": ["behind a call"],
    "an errored answer with a call that never ran": ["had not run and was left out"],
    "thinking only, aborted": ["without words and calls"],
    "thinking only, signed elsewhere": ["without words and calls"],
    "an empty answer": ["without words and calls"],
    "an answer of blanks": ["without words and calls"],
    "ids nobody allows": ["it got another"],
    "an empty id": ["it got another"],
    "arguments that are no JSON": ["not a JSON object"],
    "lone surrogates everywhere": ["half a surrogate pair", "half a surrogate pair", "not a JSON object"],
    "an empty user message": ["an empty message of the user", "a line was put before"],
    "a history that begins with the model": ["a line was put before"],
    "a history that ends with the model": ["a line was put behind"],
    "nothing at all": ["a line was put before"],
}
"""What a person is told of each; of the others nothing, for they only had to be spelled for the reader."""
