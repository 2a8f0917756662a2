"""The pure parts of the loop: grouping, what comes next, and finishing what must be finished."""

import asyncio
import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wisp.loop.batch import MAX_PARALLEL, groups
from wisp.loop.settle import uncancelled
from wisp.messages.tool import ToolOutcome


class Ready(msgspec.Struct, frozen=True):
    number: int
    failure: ToolOutcome | None = None
    parallel_safe: bool = True
    effectful: bool = False
    resources: tuple[str, ...] = ()


READY = st.builds(
    Ready,
    st.just(0),
    st.sampled_from([None, None, ToolOutcome(())]),
    st.sampled_from([True, True, True, False]),
    st.booleans(),
    st.lists(st.sampled_from("abc"), max_size=2).map(tuple),
)


@given(st.lists(READY, max_size=20))
def test_groups_keep_every_call_in_order_and_never_run_what_may_not_meet(made: list[Ready]) -> None:
    ready = [msgspec.structs.replace(call, number=n) for n, call in enumerate(made)]
    found = groups(ready)
    assert [call for group in found for call in group] == ready
    for group in found:
        assert 1 <= len(group) <= MAX_PARALLEL
        running = [call for call in group if call.failure is None]
        if len(running) > 1:
            assert all(call.parallel_safe for call in ready if call.failure is None)
            for a, b in itertools.combinations(running, 2):
                if a.effectful or b.effectful:
                    assert not set(a.resources) & set(b.resources)


def test_reads_of_the_same_thing_may_meet() -> None:
    assert len(groups([Ready(1, resources=("a",)), Ready(2, resources=("a",))])) == 1
    assert len(groups([Ready(1, resources=("a",)), Ready(2, resources=("a",), effectful=True)])) == 2
    assert (
        len(groups([Ready(1, resources=("a",), effectful=True), Ready(2, resources=("b",), effectful=True)]))
        == 1
    )


@pytest.mark.parametrize("times", [0, 1, 3])
async def test_work_is_finished_although_it_is_cancelled_then_the_cancellation_goes_on(times: int) -> None:
    done: list[str] = []

    async def work() -> str:
        await asyncio.sleep(0.01)
        done.append("done")
        return "result"

    task = asyncio.ensure_future(uncancelled(work()))
    for _ in range(times):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
    if times:
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert await task == "result"
    assert done == ["done"]


async def test_what_the_work_raises_comes_out() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    with pytest.raises(KeyError):
        await uncancelled(work())


async def test_work_that_cancels_itself_is_cancelled() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await uncancelled(work())
