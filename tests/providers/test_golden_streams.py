"""No byte sequence makes a partial call run: the golden streams cut, re-cut, reordered and spoilt."""

import os
import random

import pytest
from providers.golden import CHUNKINGS, FRAMES, WHOLE, golden, play, runnable

from wisp.messages.codec import strict_object
from wisp.providers.events import Failed, Finished, TextDelta
from wisp.testing.frames import frames
from wisp.testing.steps import Call, Step

THE_CALL = [("bash", '{"command":"rm -rf build/cache"}')]
LAST = {"A": "A6", "O": "O3", "R": "R5"}
"""The frame after which the call may run; Chat's finish reason needs no [DONE] behind it."""


def test_the_frames_hold_the_call_they_should():
    assert all(b"rm -rf build" in FRAMES[name] for name in ("A2", "O1", "R2", "R3", "R4"))


@pytest.mark.parametrize("ending", ["", "wire", "stall"], ids=["close", "reset", "stall"])
@pytest.mark.parametrize("letter", ["A", "O", "R"])
async def test_a_stream_cut_after_any_byte_runs_nothing_or_the_whole_call(letter, ending):
    data = golden(WHOLE[letter])
    needed = data.index(FRAMES[LAST[letter]]) + len(FRAMES[LAST[letter]].rstrip())
    for cut in range(len(data)):
        events = await play(letter, data[:cut], error=ending)
        if cut < needed:
            assert runnable(events) == [], cut
            assert isinstance(events[-1], Failed), cut
        elif cut > needed + 1:
            assert runnable(events) == THE_CALL, cut
        else:  # the last object is whole, its blank line is not: only an orderly end counts
            assert runnable(events) == (THE_CALL if not ending else []), cut


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("letter", ["A", "O", "R"])
async def test_every_chunking_gives_the_same_events(letter, chunking):
    data = golden(WHOLE[letter])
    whole = await play(letter, data)
    assert await play(letter, data, CHUNKINGS[chunking]) == whole
    assert runnable(whole) == THE_CALL


@pytest.mark.parametrize("chunking", ["whole", "bytes", "sevens"])
@pytest.mark.parametrize("ends", [b"\r\n", b"\r"], ids=["crlf", "cr"])
@pytest.mark.parametrize("letter", ["A", "O", "R"])
async def test_line_ends_and_byte_order_mark_change_nothing(letter, ends, chunking):
    data = golden(WHOLE[letter])
    spoilt = b"\xef\xbb\xbf" + data.replace(b"\n", ends)
    assert await play(letter, spoilt, CHUNKINGS[chunking]) == await play(letter, data)


@pytest.mark.parametrize("names", ["A1A2A5A6", "A1A2A3A5A6", "R1R2R5", "R1R2R3R5"])
async def test_a_terminal_event_over_an_open_call_is_a_failed_attempt(names):
    events = await play(names[0], golden(names))
    assert runnable(events) == []
    assert events[-1].kind == "wire"


@pytest.mark.parametrize("names", ["O1O2OLO4", "R1R2R3R4RI"])
async def test_a_whole_call_in_a_truncated_answer_does_not_run(names):
    events = await play(names[0], golden(names))
    assert runnable(events) == []
    assert events[-1].message.stop == "length"


@pytest.mark.parametrize("names", ["A2A5A6", "R2R5"])
async def test_a_delta_for_a_part_that_never_began_is_a_protocol_error(names):
    events = await play(names[0], golden(names))
    assert isinstance(events[-1], Failed)
    assert "protocol error" in events[-1].message


@pytest.mark.parametrize("reason", ["content_filter", "refusal", "something_new"])
@pytest.mark.parametrize("letter", ["A", "O"])
async def test_any_other_ending_runs_nothing(letter, reason):
    word = {"A": b"tool_use", "O": b"tool_calls"}[letter]
    spoilt = {"A": "A5", "O": "O3"}[letter]
    data = golden(WHOLE[letter]).replace(
        FRAMES[spoilt], FRAMES[spoilt].replace(b'"' + word + b'"', b'"' + reason.encode() + b'"')
    )
    events = await play(letter, data)
    assert isinstance(events[-1], Finished)
    assert events[-1].message.stop != "tool_calls"
    assert runnable(events) == []


@pytest.mark.parametrize("letter", ["A", "O", "R"])
async def test_a_reset_after_the_end_changes_nothing(letter):
    data = golden(WHOLE[letter])
    events = await play(letter, data, error="wire", retries=2)
    assert runnable(events) == THE_CALL
    assert events == await play(letter, data)


async def test_text_before_a_cut_call_is_kept_as_partial():
    words = b"".join(
        b'data: {"choices":[{"index":0,"delta":{"content":"word%d "}}]}\n\n' % k for k in range(300)
    )
    events = await play("O", words + golden("O1"))
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert failed.partial.text == "".join(f"word{k} " for k in range(300))
    assert failed.partial.calls == ()
    assert failed.partial.stop == "error"


@pytest.mark.parametrize("cut", [1, 2, 3])
async def test_a_character_cut_in_two_is_whole(cut):
    frame = 'data: {"choices":[{"index":0,"delta":{"content":"é漢🙂"},"finish_reason":"stop"}]}\n\n'.encode()
    place = frame.index("🙂".encode()) + cut
    events = await play("O", frame, lambda data: [data[:place], data[place:]])
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["é漢🙂"]


GEMINI = b"".join(frames("gemini", Step("é🙂", "hm", (Call("bash", {"command": "rm -rf build"}),)), 1))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("letter", ["A", "O", "R", "G"])
async def test_spoilt_streams_never_raise_and_run_at_most_one_well_formed_call(letter):
    seeded = random.Random(20261130)
    data = GEMINI if letter == "G" else golden(WHOLE[letter])
    for _ in range(100_000 if os.environ.get("WISP_SOAK") else 5_000):
        spoilt = bytearray(data)
        for _ in range(seeded.randint(1, 4)):
            place = seeded.randrange(len(spoilt))
            action = seeded.randrange(3)
            if action == 0:
                spoilt[place] = seeded.randrange(256)
            elif action == 1:
                del spoilt[place : place + seeded.randint(1, 30)]
            else:
                spoilt[place:place] = spoilt[seeded.randrange(len(spoilt)) :][: seeded.randint(1, 60)]
        calls = runnable(await play(letter, bytes(spoilt)))
        assert len(calls) <= 1
        for name, arguments in calls:
            assert name
            strict_object(arguments)
