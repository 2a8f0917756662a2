"""Promises of chapter 10: figures that a second calculation confirms, and a judge that asks the project."""

import itertools
import random

import pytest
from examples.crafting_agents.core import Message
from examples.crafting_agents.proof import (
    TASKS,
    CoinProvider,
    bootstrap,
    pass_all,
    passes,
    percentile,
    wilson,
)
from examples.crafting_agents.steering import Control, Conversation, converse, stoppable_tools
from examples.crafting_agents.workbench import TOOLS
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_all_is_the_share_of_all_choices_that_pass(case):
    attempts, passed, k = case
    outcomes = [True] * passed + [False] * (attempts - passed)
    choices = list(itertools.combinations(outcomes, k))

    assert pass_all(attempts, passed, k) == pytest.approx(sum(map(all, choices)) / len(choices))


@pytest.mark.parametrize(
    ("passed", "attempts", "low", "high"),
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_the_published_one(passed, attempts, low, high):
    assert wilson(passed, attempts, z=1.959964) == pytest.approx((low, high), abs=5e-5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_bootstrap_interval_lies_within_the_values_and_repeats(values):
    low, high = bootstrap(values, seed=1, rounds=200)

    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert bootstrap(values, seed=1, rounds=200) == (low, high)


def test_a_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    coin = random.Random(7)
    covered = 0
    for trial in range(200):
        sample = [coin.random() for _ in range(40)]
        low, high = bootstrap(sample, seed=trial, rounds=300)
        covered += low <= 0.5 <= high

    # 95 % of 200 is 190, with a standard deviation of 3.1; the percentile method is known to be a little low.
    assert 178 <= covered <= 200


@given(st.lists(st.integers(), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_the_smallest_value_that_enough_do_not_exceed(values, share):
    found = percentile(values, share)

    assert sum(value <= found for value in values) >= share * len(values)
    below = [value for value in values if value < found]
    assert len(below) < share * len(values)


def set_up(root, task, expression):
    for name, text in task.files().items():
        (root / name).write_text(text.replace(task.wrong, expression) if name == "calculator.py" else text)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_judge_rejects_the_bug_and_accepts_the_fix(tmp_path, task):
    for expression, verdict in ((task.wrong, False), (task.right, True)):
        set_up(tmp_path, task, expression)
        assert passes(tmp_path) is verdict


@pytest.mark.parametrize(("skill", "recovery", "passed"), [(1, 0, True), (0, 1, True), (0, 0, False)])
async def test_a_claim_is_not_a_pass(tmp_path, skill, recovery, passed):
    task = TASKS[2]
    set_up(tmp_path, task, task.wrong)
    provider = CoinProvider(task, random.Random(1), skill, recovery)
    conversation = Conversation([Message("user", "Fix it.")])
    tools = stoppable_tools(tmp_path, lambda line: None)
    await converse(conversation, provider, TOOLS, tools, Control(), report=lambda line: None)

    assert conversation.rows[-1].content == "Done: the function is fixed."
    assert passes(tmp_path) is passed
