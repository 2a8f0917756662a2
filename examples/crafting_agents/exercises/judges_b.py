"""The judges of chapters 6 to 10."""

from __future__ import annotations

import itertools
import random
import zlib

from examples.crafting_agents.core import Message, ToolCall
from examples.crafting_agents.host import Event
from examples.crafting_agents.journal import Record
from examples.crafting_agents.steering import NOT_STARTED, UNKNOWN, check_lawful

from .judging import Answer, Exercise, Wrong, demand, equal


def judge_6_1(answer: Answer) -> None:
    """A run's worth of boundaries, with queues that fill up in between."""
    due = answer["due"]
    steering, follow_ups = ["s1", "s2"], ["f1", "f2"]
    equal(due(steering, follow_ups, False), ["s1", "s2"], "a boundary in mid-run")
    equal((steering, follow_ups), ([], ["f1", "f2"]), "the queues behind it")
    equal(due(steering, follow_ups, False), [], "a boundary with nothing due")
    steering.append("s3")
    equal(due(steering, follow_ups, True), ["s3"], "the model would stop, but there is steering")
    equal(due(steering, follow_ups, True), ["f1"], "the model would stop")
    equal(due(steering, follow_ups, True), ["f2"], "the model would stop again")
    equal(due(steering, follow_ups, True), [], "the model may stop")
    equal((steering, follow_ups), ([], []), "the queues at the end")


def judge_6_2(answer: Answer) -> None:
    """Every way in which up to three calls can be cut off."""
    settle = answer["settle"]
    for count in range(4):
        calls = [ToolCall(str(number), "t", {}) for number in range(count)]
        for finished in range(count + 1):
            done = [Message("tool", f"done {number}", tool_call_id=str(number)) for number in range(finished)]
            for begun in (None, str(finished)) if finished < count else (None,):
                what = f"{count} calls, {finished} done, begun: {begun}"
                rows = list(settle(calls, done, begun))
                try:
                    check_lawful([Message("assistant", "", tuple(calls)), *rows])
                except ValueError as error:
                    raise Wrong(f"{what}: {error}") from error
                rest = [UNKNOWN if call.id == begun else NOT_STARTED for call in calls[finished:]]
                equal([row.content for row in rows], [row.content for row in done] + rest, what)


def judge_7_1(answer: Answer) -> None:
    """A small journal, cut and damaged in every place."""
    recover = answer["recover"]
    texts = [b"one", b"", b"three three", b"\xff\x00"]
    lines = [b"%08x %s\n" % (zlib.crc32(text), text) for text in texts]
    data = b"".join(lines)
    equal(recover(data), (texts, False), "a journal without damage")
    for cut in range(len(data)):
        whole = data[:cut].count(b"\n")
        equal(
            recover(data[:cut]), (texts[:whole], data[:cut] != b"".join(lines[:whole])), f"cut at byte {cut}"
        )
    for place in range(len(data)):
        found, damaged = recover(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        demand(damaged, f"byte {place} was changed, and nothing was reported")
        demand(all(text in texts for text in found), f"byte {place} was changed, and a wrong text came back")
        demand(len(found) >= len(texts) - 2, f"byte {place} was changed, and lines far from it were lost")


def judge_7_2(answer: Answer) -> None:
    """Chains, forks, and a comparison with a slow search on random trees."""
    leaves = answer["leaves"]
    equal(list(leaves([])), [], "an empty journal")
    coin = random.Random(2)
    for _ in range(200):
        records = [
            Record(number, coin.randrange(number), "message", {})
            for number in range(1, coin.randrange(1, 12))
        ]
        wanted = [one.id for one in records if all(other.parent != one.id for other in records)]
        equal(list(leaves(records)), wanted, f"parents {[one.parent for one in records]}")


def judge_8_1(answer: Answer) -> None:
    """Against sums done in whole microdollars."""
    cost = answer["cost"]
    cases = [
        ([], 3, 1, 15, 0.0),
        ([(1_000_000, 0, 0)], 3, 1, 15, 3.0),
        ([(1_000_000, 1_000_000, 0)], 3, 1, 15, 1.0),
        (
            [(2_000, 500, 100), (2_100, 2_000, 50)],
            4,
            1,
            20,
            (1_500 * 4 + 500 + 100 * 20 + 100 * 4 + 2_000 + 50 * 20) / 1e6,
        ),
    ]
    for requests, fresh, cached, out, wanted in cases:
        found = cost(requests, fresh, cached, out)
        demand(
            abs(found - wanted) < 1e-12, f"cost({requests}, {fresh}, {cached}, {out}) = {found}, not {wanted}"
        )


def judge_8_2(answer: Answer) -> None:
    """Random conversations: fewest results, oldest first, nothing else touched."""
    prune_to = answer["prune_to"]
    coin = random.Random(3)
    for _ in range(300):
        rows = [
            Message(role, "x" * coin.randrange(40), tool_call_id="1" if role == "tool" else None)
            for role in (coin.choice(["user", "assistant", "tool"]) for _ in range(coin.randrange(8)))
        ]
        limit = coin.randrange(120)
        found = list(prune_to(rows, limit))
        what = f"sizes {[(row.role, len(row.content)) for row in rows]}, limit {limit}"
        wanted = [row.content for row in rows]
        for number, row in enumerate(rows):
            if sum(map(len, wanted)) > limit and row.role == "tool" and len(row.content) > len("[left out]"):
                wanted[number] = "[left out]"
        equal(
            [(row.role, row.tool_call_id) for row in found],
            [(row.role, row.tool_call_id) for row in rows],
            what,
        )
        equal([row.content for row in found], wanted, what)


def judge_9_1(answer: Answer) -> None:
    """The same events twice, in halves, and with kinds from the future."""
    apply, view_type = answer["apply"], answer["Waiting"]
    log = [
        Event(1, "queued", {"ticket": 1, "text": "a"}),
        Event(2, "weather", {}),
        Event(3, "queued", {"ticket": 2, "text": "b"}),
        Event(4, "taken_back", {"ticket": 1}),
        Event(5, "queued", {"ticket": 3, "text": "c"}),
        Event(6, "delivered", {"ticket": 2}),
        Event(7, "delivered", {"ticket": 9}),
    ]
    wanted = [
        ((1, "a"),),
        ((1, "a"),),
        ((1, "a"), (2, "b")),
        ((2, "b"),),
        ((2, "b"), (3, "c")),
        ((3, "c"),),
        ((3, "c"),),
    ]
    for round_ in ("first", "second"):
        view = view_type()
        for event, tickets in zip(log, wanted, strict=True):
            before = view.tickets
            new = apply(view, event)
            equal(new.tickets, tickets, f"behind event {event.seq}, {round_} time")
            equal(view.tickets, before, f"the old view behind event {event.seq}")
            view = new


def judge_9_2(answer: Answer) -> None:
    """All short sequences of three kinds."""
    coalesce = answer["coalesce"]
    for kinds in itertools.chain.from_iterable(
        itertools.product(("text", "call", "ended"), repeat=n) for n in range(6)
    ):
        log = [Event(n, kind, {"piece": str(n)} if kind == "text" else {}) for n, kind in enumerate(kinds, 1)]
        wanted: list[Event] = []
        for is_text, group in itertools.groupby(log, key=lambda event: event.kind == "text"):
            members = list(group)
            if is_text:
                piece = "".join(event.body["piece"] for event in members)
                wanted.append(Event(members[-1].seq, "text", {"piece": piece}))
            else:
                wanted += members
        equal(list(coalesce(log)), wanted, f"kinds {kinds}")


def judge_10_1(answer: Answer) -> None:
    """Against counting all choices."""
    pass_any = answer["pass_any"]
    for attempts in range(1, 7):
        for passed in range(attempts + 1):
            outcomes = [True] * passed + [False] * (attempts - passed)
            for k in range(1, attempts + 1):
                choices = list(itertools.combinations(outcomes, k))
                wanted = sum(map(any, choices)) / len(choices)
                what = f"pass_any({attempts}, {passed}, {k})"
                demand(abs(pass_any(attempts, passed, k) - wanted) < 1e-9, f"{what} should be {wanted:.4f}")


def judge_10_2(answer: Answer) -> None:
    """Against counting all ways in which fair coins fall."""
    sign_test = answer["sign_test"]
    for better, worse, same in itertools.product(range(5), range(5), range(3)):
        before = [False] * better + [True] * worse + [True] * same
        after = [True] * better + [False] * worse + [True] * same
        changed = better + worse
        falls = list(itertools.product((0, 1), repeat=changed))
        uneven = abs(better - worse)
        wanted = sum(abs(2 * sum(fall) - changed) >= uneven for fall in falls) / len(falls)
        found = sign_test(before, after)
        what = f"{better} better, {worse} worse, {same} the same"
        demand(abs(found - wanted) < 1e-9, f"{what}: {found:.4f}, and {wanted:.4f} is right")


EXERCISES = {
    "6.1": Exercise("What is due at a boundary", ("due",), judge_6_1),
    "6.2": Exercise("Settling what was interrupted", ("settle",), judge_6_2),
    "7.1": Exercise("Reading a damaged journal", ("recover",), judge_7_1),
    "7.2": Exercise("The ends of all branches", ("leaves",), judge_7_2),
    "8.1": Exercise("What caching saves", ("cost",), judge_8_1),
    "8.2": Exercise("Leaving out old output", ("prune_to",), judge_8_2),
    "9.1": Exercise("A view of the queue", ("Waiting", "apply"), judge_9_1),
    "9.2": Exercise("Larger pieces", ("coalesce",), judge_9_2),
    "10.1": Exercise("Any instead of all", ("pass_any",), judge_10_1),
    "10.2": Exercise("Better, or lucky?", ("sign_test",), judge_10_2),
}
