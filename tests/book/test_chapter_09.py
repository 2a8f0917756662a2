"""Promises of chapter 9: the view is made of events alone, and every front end sees the same engine."""

import asyncio
import json

import pytest
from examples.crafting_agents.checkpoint_09 import from_tomorrow, make_host
from examples.crafting_agents.host import Command, Event, Refused, View, apply, fold_view
from examples.crafting_agents.pipes import serve
from examples.crafting_agents.renderings import as_json, as_screen, from_json
from examples.crafting_agents.workbench import PROJECT
from hypothesis import given
from hypothesis import strategies as st

SAY = Command("say", {"text": "Fix it."})
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
bodies = {
    "user": st.fixed_dictionaries({"text": text}),
    "text": st.fixed_dictionaries({"piece": text}),
    "assistant": st.fixed_dictionaries({"text": text}),
    "asked": st.fixed_dictionaries({"call": text, "name": text}),
    "answered": st.fixed_dictionaries({"call": text, "allow": st.booleans()}),
    "call": st.fixed_dictionaries({"call": text, "name": text, "arguments": st.just({})}),
    "result": st.fixed_dictionaries({"call": text, "text": text}),
    "ended": st.fixed_dictionaries({"ending": text}),
    "weather": st.just({}),
}
event_bodies = st.sampled_from(sorted(bodies)).flatmap(
    lambda kind: bodies[kind].map(lambda body: (kind, body))
)
logs = st.lists(event_bodies, max_size=20).map(
    lambda pairs: [Event(number, kind, body) for number, (kind, body) in enumerate(pairs, 1)]
)


@pytest.fixture
def project(tmp_path):
    for name, content in PROJECT.items():
        (tmp_path / name).write_bytes(content.encode())
    return tmp_path


@given(logs, st.data())
def test_a_snapshot_and_the_rest_give_the_view_of_the_whole(log, data):
    cut = data.draw(st.integers(0, len(log)))

    assert fold_view(log[cut:], fold_view(log[:cut])) == fold_view(log)


@given(logs)
def test_events_that_went_through_json_give_the_same_view(log):
    assert fold_view(map(from_json, map(as_json, log))) == fold_view(log)
    assert fold_view(from_tomorrow(log)) == fold_view(log)


@given(logs)
def test_a_view_is_never_changed_only_replaced(log):
    view = fold_view(log)
    before = repr(view)
    apply(view, Event(view.seq + 1, "user", {"text": "x"}))

    assert repr(view) == before


@given(logs, st.integers(1, 100), st.integers(2, 20))
def test_a_screen_has_the_size_that_was_asked_for(log, width, height):
    lines = as_screen(fold_view(log), width, height).split("\n")

    assert len(lines) == height + 2
    assert {len(line) for line in lines} == {width + 2}


async def answer_all(host, allow=True):
    async for event in host.follow():
        if event.kind == "asked":
            host.do(Command("answer", {"call": event.body["call"], "allow": allow}))
        if event.kind == "ended":
            return


async def test_numbers_have_no_gaps_and_a_late_subscriber_misses_nothing(project):
    host = make_host(project)
    host.do(SAY)
    await answer_all(host)
    late = []
    async for event in host.follow():
        late.append(event)
        if event.kind == "ended":
            break

    assert late == host.log
    assert [event.seq for event in late] == list(range(1, len(late) + 1))


async def test_a_question_is_answered_once_by_whoever_is_first(project):
    host = make_host(project)
    host.do(SAY)
    async for event in host.follow():
        if event.kind == "asked":
            answer = {"call": event.body["call"], "allow": False}
            host.do(Command("answer", answer))
            with pytest.raises(Refused):
                host.do(Command("answer", {**answer, "allow": True}))
            break
    async for later in host.follow(event.seq):
        if later.kind == "result":
            assert later.body["text"].startswith("error: approval_denied")
            break
    host.do(Command("interrupt", {}))


@pytest.mark.parametrize("answer", ["yes", 1, None, "true"])
async def test_only_true_agrees(project, answer):
    host = make_host(project)
    host.do(SAY)
    async for event in host.follow():
        if event.kind == "asked":
            host.do(Command("answer", {"call": event.body["call"], "allow": answer}))
        if event.kind == "answered":
            assert event.body["allow"] is False
            break
    host.do(Command("interrupt", {}))


@pytest.mark.parametrize("kind", ["interrupt", "answer", "dance"])
def test_a_command_that_makes_no_sense_is_refused_and_changes_nothing(project, kind):
    async def refuse():
        host = make_host(project)
        with pytest.raises(Refused):
            host.do(Command(kind, {}))
        assert host.log == []

    asyncio.run(refuse())


async def lines_of(*lines):
    for line in lines:
        yield line
        await asyncio.sleep(0)


async def serve_lines(project, *lines):
    written = []
    await serve(make_host(project), lines_of(*lines), written.append)
    return [json.loads(line) for line in written]


def request(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


HELLO = request(1, "initialize", protocol=2)


@pytest.mark.parametrize(("asked", "agreed"), [(1, 1), (2, 2), (9, 2)])
async def test_both_ends_use_what_both_know(project, asked, agreed):
    [answer] = await serve_lines(project, request(1, "initialize", protocol=asked))

    assert answer["result"] == {"protocol": agreed}


@given(
    st.lists(
        st.one_of(
            st.text(max_size=20),
            st.recursive(
                st.none() | st.booleans() | st.integers() | text,
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
            ).map(json.dumps),
            st.builds(
                lambda method, params: json.dumps({"id": 1, "method": method, "params": params}),
                st.sampled_from(["initialize", "snapshot", "command", "x"]),
                st.none() | st.just({}) | st.just({"kind": "say"}) | st.just({"kind": "answer", "body": 3}),
            ),
        ),
        max_size=10,
    )
)
def test_every_line_is_answered_once_whatever_it_holds(tmp_path_factory, lines):
    answers = asyncio.run(serve_lines(tmp_path_factory.mktemp("p"), *lines))

    assert len([answer for answer in answers if "method" not in answer]) == len(lines)


async def test_nothing_comes_before_the_handshake(project):
    early, hello, snapshot = await serve_lines(
        project, request(1, "snapshot"), request(2, "initialize", protocol=2), request(3, "snapshot")
    )

    assert early["error"]["message"] == "Refused: initialize comes first"
    assert hello["result"] == {"protocol": 2}
    assert View(**snapshot["result"]) == View(lines=[])
