"""Merging of deltas: less is written, nothing is lost, nothing changes its place."""

from __future__ import annotations

import json
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from wisp.frontends.rpc.events import LONGEST, MOST_BYTES, MOST_DELTAS, EventWriter
from wisp.host.events import Envelope, Event, MessageDelta, MessageStarted, TurnStarted


class Sink:
    """Takes frames, and remembers what was to be done later."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.later: list[tuple[float, Any]] = []
        self.writer = EventWriter(self.frames.append, lambda s, f: self.later.append((s, f)))

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(frame) for frame in self.frames]


def numbered(events: list[Event]) -> list[Envelope]:
    return [Envelope(n, "s", 1.0, event) for n, event in enumerate(events, 1)]


DELTAS = st.builds(
    MessageDelta,
    turn=st.just(1),
    delta=st.text(max_size=30) | st.just("x" * 5000),
    content_index=st.integers(0, 1),
    content_kind=st.sampled_from(["text", "thinking"]),
)
OTHERS = st.just(TurnStarted(1)) | st.just(MessageStarted(1, "m"))


@given(st.lists(DELTAS | OTHERS, max_size=80))
def test_pieces_of_each_part_and_their_order_among_other_events_are_kept(events: list[Event]) -> None:
    sink = Sink()
    for envelope in numbered(events):
        sink.writer.event(envelope)
    sink.writer.flush()

    def flat(data: list[dict[str, Any]]) -> list[Any]:
        joined: list[Any] = []
        for one in data:
            if one["type"] != "message.delta":
                joined.append(one["type"])
                continue
            key = [one["content_index"], one["content_kind"]]
            if joined and isinstance(joined[-1], list) and joined[-1][0] == key:
                joined[-1][1] += one["delta"]
            else:
                joined.append([key, one["delta"]])
        return joined

    expected: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event, MessageDelta):
            expected.append(
                {
                    "type": "message.delta",
                    "content_index": event.content_index,
                    "content_kind": event.content_kind,
                    "delta": event.delta,
                }
            )
        else:
            expected.append({"type": str(event.__struct_config__.tag)})
    told = [frame["params"] for frame in sink.told]

    assert flat(told) == flat(expected)
    assert sum(one.get("count", 1) for one in told) == len(events)
    last = 0
    for one in told:
        assert one["seq"] == last + one.get("count", 1)
        last = one["seq"]


def test_a_merged_delta_keeps_to_its_limits() -> None:
    sink = Sink()
    for envelope in numbered([MessageDelta(1, "x" * n) for n in [1] * 1000 + [100] * 1000]):
        sink.writer.event(envelope)
    sink.writer.flush()

    assert max(len(frame["params"]["delta"]) for frame in sink.told) <= MOST_BYTES
    assert max(frame["params"].get("count", 1) for frame in sink.told) <= MOST_DELTAS


def test_a_delta_waits_no_longer_than_the_limit() -> None:
    sink = Sink()
    sink.writer.event(numbered([MessageDelta(1, "x")])[0])
    assert sink.frames == []
    [(seconds, flush)] = sink.later
    flush()

    assert seconds == LONGEST
    assert sink.told[0]["params"]["delta"] == "x"


def test_an_answer_leaves_after_the_events_before_it() -> None:
    sink = Sink()
    sink.writer.event(numbered([MessageDelta(1, "x")])[0])
    sink.writer.message({"id": 1, "result": {}})

    assert ["id" in frame for frame in sink.told] == [False, True]


def test_a_quarter_million_one_byte_deltas_become_a_thousand_frames() -> None:
    envelopes = numbered([MessageDelta(1, "x")] * 262_144)
    sink = Sink()
    began = time.process_time()
    for envelope in envelopes:
        sink.writer.event(envelope)
    sink.writer.flush()
    spent = time.process_time() - began

    assert spent < 0.5, "seconds of processor time; a tenth of it is usual"
    assert len(sink.frames) == 262_144 // MOST_DELTAS
