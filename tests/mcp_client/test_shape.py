"""Structured results held against the schema a server published: a second implementation agrees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from wisp.mcp.content import outcome_of
from wisp.mcp.shape import misfit

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
SCHEMAS: Any = st.deferred(
    lambda: (
        st.booleans()
        | st.fixed_dictionaries(
            {},
            optional={
                "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
                "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
                "properties": st.dictionaries(st.sampled_from("abc"), SCHEMAS, max_size=2),
                "additionalProperties": st.booleans(),
                "items": SCHEMAS,
                "enum": st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=2, unique=True),
            },
        )
    )
)


@given(VALUES, SCHEMAS)
def test_what_is_looked_at_is_judged_as_a_whole_validator_judges_it(value: Any, schema: Any) -> None:
    assert (misfit(value, schema) == "") is Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/never-fetched"},
        {"pattern": "(a+)+$", "type": "string"},
        {"type": 7, "required": "x", "properties": [], "items": 3, "enum": {}},
        {"type": ["string", 7]},
        {"allOf": [False] * 10_000},
    ],
)
def test_what_could_cost_anything_is_taken_as_fitting(schema: Any) -> None:
    assert misfit("a" * 40 + "!", schema) == ""


def test_a_value_of_any_depth_ends() -> None:
    schema: Any = {"type": "object"}
    schema["properties"] = {"a": schema}
    value: Any = {}
    for _ in range(400):
        value = {"a": value}
    assert misfit(value, schema) == ""


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({"structuredContent": {"n": 1}}, ""),
        ({"structuredContent": {"n": "1"}}, "n is no integer"),
        ({"structuredContent": {}}, "lacks 'n'"),
        ({"content": [{"type": "text", "text": "words"}]}, "this one is not structured"),
        ({"isError": True, "content": []}, ""),
    ],
)
def test_a_server_that_breaks_its_own_schema_is_told_of_and_nothing_is_built_on_it(
    result: dict[str, Any], says: str
) -> None:
    outcome = outcome_of(result, lambda data: "", SCHEMA)
    assert says in outcome.text
    assert ("the server breaks its word" in outcome.text) is bool(says)
    assert outcome.details == (
        {"structured": {"n": 1}} if result.get("structuredContent") == {"n": 1} else {}
    )
