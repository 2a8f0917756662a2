"""Phenomena every dialect must pass, each with a script for the model server and a check of what came of it.

    for case in CASES: await run_case(case, api)

raises AssertionError where the dialect does not behave.  A new dialect joins by being served by
`testing.model_server`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from wisp.messages.content import Text, Thinking
from wisp.messages.message import user
from wisp.providers.base import Api
from wisp.providers.endpoint import Timeouts
from wisp.providers.events import PartEnded, Retrying, TextDelta, Withdrawn
from wisp.testing.asking import KEY, Outcome, ask, provider_for
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Fault, Step


class Case(msgspec.Struct, frozen=True):
    """One phenomenon."""

    name: str
    script: tuple[Step, ...]
    check: Callable[[Outcome], None]
    retries: int = 3
    timeouts: Timeouts = Timeouts()
    argument_text: bool = False
    """Needs a dialect that streams arguments as text; Gemini sends objects."""

    def applies(self, api: Api) -> bool:
        """Whether the phenomenon can occur in this dialect."""
        return not (self.argument_text and api == "gemini")


async def run_case(case: Case, api: Api) -> Outcome:
    """Serve the case in one dialect and check it."""
    async with ModelServer(case.script) as server:
        waits: list[float] = []
        provider = provider_for(server, api, waits=waits, retries=case.retries, timeouts=case.timeouts)
        try:
            outcome = Outcome(await ask(provider, [user("go")]), server, waits)
        finally:
            await provider.aclose()
        case.check(outcome)
        return outcome


TWO = (Call("read", {"path": "a.py"}), Call("read", {"path": "b.py"}))
WORDS = "It is é, 漢字 and 🙂 together. " * 3


def _text(outcome: Outcome) -> None:
    message = outcome.message
    assert message.text == WORDS
    assert message.stop == "stop"
    shown = "".join(event.text for event in outcome.events if isinstance(event, TextDelta))
    assert shown == WORDS


def _thinking(outcome: Outcome) -> None:
    thoughts = [block for block in outcome.message.content if isinstance(block, Thinking)]
    assert [block.text for block in thoughts] == ["first this, then that"]
    assert outcome.message.text == "so"


def _calls(outcome: Outcome) -> None:
    message = outcome.message
    assert message.stop == "tool_calls"
    assert [call.arguments for call in message.calls] == ['{"path":"a.py"}', '{"path":"b.py"}']
    assert len({call.id for call in message.calls}) == 2
    assert outcome.runnable == 2


def _usage(outcome: Outcome) -> None:
    usage = outcome.message.usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.output_tokens) == (105, 9)
    assert usage.cache_read_tokens == 30
    if usage.cache_write_tokens is not None:  # not every service counts them
        assert (usage.input_tokens, usage.cache_write_tokens) == (70, 5)


def _nothing_runs(stop: str) -> Callable[[Outcome], None]:
    def check(outcome: Outcome) -> None:
        assert outcome.message.stop == stop
        assert outcome.runnable == 0

    return check


def _fault(outcome: Outcome) -> None:
    call = outcome.message.calls[0]
    assert call.fault
    assert call.arguments == "{}"
    assert outcome.runnable == 0


def _same_id(outcome: Outcome) -> None:
    calls = outcome.message.calls
    assert len(calls) == 2
    assert all(call.fault for call in calls)
    assert len({call.id for call in calls}) == 2


def _no_arguments(outcome: Outcome) -> None:
    assert outcome.message.calls[0].arguments == "{}"
    assert outcome.runnable == 1


def _retried(outcome: Outcome) -> None:
    assert outcome.message.text == "at last"
    assert outcome.count(Retrying) == 2
    assert outcome.count(Withdrawn) == 0
    assert len(outcome.waits) == 2


def _withdrawn(outcome: Outcome) -> None:
    assert outcome.message.text == WORDS
    kinds = [type(event) for event in outcome.events]
    assert kinds.index(Withdrawn) + 1 == kinds.index(Retrying)
    assert kinds.count(Withdrawn) == 1


def _given_up(outcome: Outcome) -> None:
    failed = outcome.failed
    assert failed.kind in ("wire", "connect")
    assert failed.retryable
    assert failed.partial is not None
    assert failed.partial.stop == "error"
    assert WORDS.startswith(failed.partial.text)
    assert failed.partial.text
    assert not failed.partial.calls


def _call_cut(outcome: Outcome) -> None:
    assert outcome.failed.partial is None or not outcome.failed.partial.calls
    assert not any(
        isinstance(event, PartEnded) and isinstance(event.block, Text) and "path" in event.block.text
        for event in outcome.events
    )


def _kind(kind: str, status: int, requests: int = 1) -> Callable[[Outcome], None]:
    def check(outcome: Outcome) -> None:
        assert (outcome.failed.kind, outcome.failed.status) == (kind, status)
        assert len(outcome.server.requests) == requests

    return check


def _page(outcome: Outcome) -> None:
    assert outcome.failed.kind == "wire"
    assert "502 Bad Gateway" in outcome.failed.message
    assert "<" not in outcome.failed.message


def _waited(seconds: float) -> Callable[[Outcome], None]:
    def check(outcome: Outcome) -> None:
        assert outcome.waits == [seconds]
        assert outcome.message.text == "ok"

    return check


def _no_secret(outcome: Outcome) -> None:
    assert KEY not in outcome.failed.message
    assert "0123456789abcdef" not in outcome.failed.message


def _said(status: int, **error: str) -> Fault:
    return Fault(status, body=msgspec.json.encode({"error": error}).decode(), times=9)


def _status(status: int, **fields: object) -> Fault:
    return msgspec.convert({"status": status, **fields}, Fault)


_OK = "ok"
_STRANGE = ': ping\n\nevent: future\ndata: {"type":"future.event","x":[1]}\n\ndata: null\n\n'
_BRIEF = Timeouts(connect=2.0, first_byte=0.3, idle=0.3, progress=2.0)

CASES: tuple[Case, ...] = (
    Case("text in any script arrives whole", (Step(WORDS, delta=5),), _text),
    Case("thinking is kept apart", (Step("so", "first this, then that"),), _thinking),
    Case("parallel calls keep their order", (Step("I look.", calls=TWO),), _calls),
    Case(
        "usage has four parts that do not overlap",
        (Step(_OK, usage={"input": 70, "output": 9, "cache_read": 30, "cache_write": 5}),),
        _usage,
    ),
    Case(
        "broken arguments are a fault of the call",
        (Step(calls=(Call("read", '{"path":"a\nb'),)),),
        _fault,
        argument_text=True,
    ),
    Case(
        "a name twice in the arguments is a fault",
        (Step(calls=(Call("read", '{"path":"a","path":"b"}'),)),),
        _fault,
    ),
    Case(
        "not a number in the arguments is a fault",
        (Step(calls=(Call("read", '{"n":NaN}'),)),),
        _fault,
        argument_text=True,
    ),
    Case(
        "an endless number in the arguments is a fault",
        (Step(calls=(Call("read", '{"n":' + "1" * 5000 + "}"),)),),
        _fault,
    ),
    Case(
        "half a surrogate in the arguments is a fault",
        (Step(calls=(Call("read", '{"path":"\\ud800"}'),)),),
        _fault,
        argument_text=True,
    ),
    Case("no argument text means no arguments", (Step(calls=(Call("read", ""),)),), _no_arguments),
    Case(
        "two calls with one id run neither",
        (Step(calls=(Call("read", {"path": "a"}, "t1"), Call("read", {"path": "b"}, "t1"))),),
        _same_id,
    ),
    Case(
        "an overloaded service is asked again",
        (Step("at last", fault=_status(529, times=2)),),
        _retried,
    ),
    Case(
        "a cut answer is withdrawn and asked again",
        (Step(WORDS, delta=5, fault=Fault(cut_after=1500)),),
        _withdrawn,
    ),
    Case(
        "a reset answer is withdrawn and asked again",
        (Step(WORDS, delta=5, fault=Fault(reset_after=1500)),),
        _withdrawn,
    ),
    Case(
        "a stalled answer is withdrawn and asked again",
        (Step(WORDS, delta=5, fault=Fault(stall_after=1500)),),
        _withdrawn,
        timeouts=_BRIEF,
    ),
    Case(
        "an answer that is always cut fails with what was said",
        (Step(WORDS, delta=5, fault=Fault(cut_after=1500, times=9)),),
        _given_up,
        retries=1,
    ),
    Case(
        "a call that was cut never runs",
        (Step(calls=TWO, fault=Fault(cut_after=1100, times=9)),),
        _call_cut,
        retries=0,
        argument_text=True,
    ),
    Case("a wrong key is not tried twice", (Step(_OK, fault=_status(401, times=9)),), _kind("auth", 401)),
    Case(
        "a bad request is not tried twice", (Step(_OK, fault=_status(400, times=9)),), _kind("request", 400)
    ),
    Case(
        "an empty account is not tried twice",
        (Step(_OK, fault=_said(429, code="insufficient_quota", message="x")),),
        _kind("quota", 429),
    ),
    Case(
        "a prompt that does not fit is told apart",
        (Step(_OK, fault=_said(400, message="prompt is too long: 9 tokens > 8")),),
        _kind("too_long", 400),
    ),
    Case(
        "a rate limit that speaks of tokens is no overflow",
        (Step(_OK, fault=_said(429, message="Too many tokens, please wait")),),
        _kind("overload", 429, requests=2),
        retries=1,
    ),
    Case(
        "the server's word about retrying counts",
        (Step(_OK, fault=_status(503, headers={"x-should-retry": "false"}, times=9)),),
        _kind("overload", 503),
    ),
    Case(
        "the server's wait is obeyed",
        (Step(_OK, fault=_status(429, headers={"retry-after": "7"})),),
        _waited(7.0),
    ),
    Case(
        "an absurd wait is clamped",
        (Step(_OK, fault=_status(429, headers={"retry-after": "999999999"})),),
        _waited(60.0),
    ),
    Case(
        "a negative wait is none",
        (Step(_OK, fault=_status(429, headers={"retry-after": "-1"})),),
        _waited(0.0),
    ),
    Case(
        "a gateway's page is an error with an excerpt",
        (Step(_OK, fault=Fault(html=True, times=9)),),
        _page,
        retries=0,
    ),
    Case(
        "an error in the stream is asked again",
        (Step(WORDS, delta=5, fault=Fault(error_event="overloaded_error")),),
        _withdrawn,
    ),
    Case(
        "a key in an error text is not repeated",
        (Step(_OK, fault=_said(401, message="Incorrect API key provided: " + KEY)),),
        _no_secret,
    ),
    Case(
        "comments and unknown events are skipped",
        (
            Step(
                WORDS,
                fault=Fault(insert=_STRANGE),
            ),
        ),
        _text,
    ),
    Case(
        "silence instead of an answer ends",
        (Step(_OK, fault=Fault(stall_head=True, times=9)),),
        _kind("connect", 0, requests=2),
        retries=1,
        timeouts=_BRIEF,
    ),
)
