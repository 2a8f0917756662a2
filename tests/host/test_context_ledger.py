"""The ledger of a request: every source is in it once, the parts add up, a provider's count corrects them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from session_world import ANSWER, NOTICE, RESULT, USER

from wisp.context.blocks import block
from wisp.context.estimate import tokens_of, tokens_of_frame
from wisp.context.ledger import ledger
from wisp.messages.content import Text
from wisp.messages.message import AssistantMessage, Message, Notice, ToolResult, user
from wisp.messages.tool import ToolSpec
from wisp.messages.usage import Usage

TOOLS = (ToolSpec("read", "reads a file", {"type": "object"}), ToolSpec("bash", "runs", {"type": "object"}))
BLOCKS = (
    block("base", "You are an agent. " * 20, "built-in"),
    block("project", "Use tabs. " * 10, "/w/AGENTS.md"),
    block("skill index", "commit: how to commit", "built-in"),
)


@given(st.lists(USER | ANSWER | RESULT | NOTICE, max_size=8))
def test_the_parts_are_the_request(messages: list[Message]) -> None:
    """One part for each block, tool and message; without a provider's count the total is their sum."""
    plain = [m for m in messages if not (isinstance(m, AssistantMessage) and m.usage is not None)]
    found = ledger(BLOCKS, TOOLS, plain)

    assert len(found.parts) == len(BLOCKS) + len(TOOLS) + len(plain)
    assert found.total == sum(part.tokens for part in found.parts)
    frame = tokens_of_frame([b.text for b in BLOCKS], TOOLS)
    assert found.total == frame + sum(map(tokens_of, plain))
    assert not found.measured


def test_a_providers_count_scales_the_estimates_to_it() -> None:
    history = [
        user("please " * 200),
        AssistantMessage((Text("yes"),), "a", "stop", Usage(9_000, 1_000, 0, 0, 0)),
    ]
    found = ledger(BLOCKS, TOOLS, history, 32_000, 8_000)

    assert (found.total, found.measured, found.window, found.reserve) == (10_000, True, 32_000, 8_000)
    assert abs(sum(part.tokens for part in found.parts) - 10_000) <= len(found.parts)


def test_each_source_has_its_kind_and_the_largest_is_named() -> None:
    history = [
        Notice("before", "summary"),
        user("hello"),
        ToolResult("c", "read", (Text("x" * 4_000),), id="r"),
    ]
    found = ledger(BLOCKS, TOOLS, history)

    kinds = found.by_kind()
    assert set(kinds) == {"system", "instructions", "skills", "tools", "summary", "user", "tool_results"}
    assert next(iter(kinds)) == "tool_results"
    assert "tool results 1,008" in found.sentence()
    assert "a result of read" in found.sentence()
