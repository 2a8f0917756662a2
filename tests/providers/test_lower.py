"""Tools on the wire: schemas that no service refuses, names in every alphabet, one bad tool leaves alone."""

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.messages.message import user
from wisp.messages.tool import ToolSpec
from wisp.providers.base import ModelRequest
from wisp.providers.events import Finished, PartEnded, PartStarted, Repaired
from wisp.providers.lower import RULES, Unsayable, lowered, offer
from wisp.providers.registry import dialect
from wisp.testing.asking import APIS, KEY, MODEL, provider_for
from wisp.testing.model_server import ModelServer
from wisp.testing.steps import Call, Step

B070 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "urn:x",
    "$defs": {"X": {"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]}},
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/X", "description": "an x"}, "y": {"type": ["string", "null"]}},
    "required": ["x"],
}


def obj(**properties):
    return {"type": "object", "properties": properties}


def spec(name, parameters=None):
    return ToolSpec(name, "d", parameters or obj(x={"type": "string"}))


def words_of(schema):
    """Every keyword in a schema, wherever it stands; names of properties are not keywords."""
    found = set()
    if isinstance(schema, dict):
        for name, value in schema.items():
            found.add(name)
            if name in ("enum", "const", "default", "examples"):
                continue  # values, not schemas
            inner = value.values() if name in ("properties", "patternProperties") else [value]
            for item in inner:
                found |= words_of(item)
    elif isinstance(schema, list):
        for item in schema:
            found |= words_of(item)
    return found


@pytest.mark.parametrize("api", APIS)
def test_references_are_written_out_and_meta_keywords_dropped(api):
    made = lowered(B070, RULES[api])
    assert words_of(made) <= {"type", "properties", "required", "description"}
    assert made["properties"]["x"]["properties"] == {"k": {"type": "integer"}}
    assert made["properties"]["x"]["description"] == "an x"
    assert made["required"] == ["x"]


@pytest.mark.parametrize("api", APIS)
def test_whatever_a_tool_takes_its_lowered_schema_takes_when_null_is_left_out(api):
    made = lowered(B070, RULES[api])
    for arguments in ({"x": {"k": 1}}, {"x": {"k": 1}, "y": "s"}):
        jsonschema.validate(arguments, B070)
        jsonschema.validate(arguments, made)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"x": {"k": "no"}}, made)


@pytest.mark.parametrize("api", ["openai-chat", "gemini"])
def test_a_type_that_may_be_null_is_offered_as_the_other(api):
    assert lowered(B070, RULES[api])["properties"]["y"] == {"type": "string"}
    several = lowered(obj(a={"type": ["string", "integer", "null"]}), RULES[api])
    assert several["properties"]["a"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}


def test_gemini_gets_only_keywords_it_knows():
    schema = obj(
        a={"type": "string", "pattern": "x", "const": "v", "default": "v", "minLength": 1},
        b={"oneOf": [{"type": "string"}, {"type": "integer", "exclusiveMinimum": 0}]},
        c={"allOf": [obj(p={"type": "string"}), {**obj(q={"type": "number"}), "required": ["q"]}]},
        d={"type": "array"},
        e={"enum": ["x", None]},
        f={"type": "object", "patternProperties": {"^x": {"type": "string"}}},
    )
    made = lowered(schema, RULES["gemini"])
    assert words_of(made) <= RULES["gemini"].known
    fields = made["properties"]
    assert fields["a"]["enum"] == ["v"]
    assert fields["b"]["anyOf"] == [{"type": "string"}, {"type": "integer"}]
    assert set(fields["c"]["properties"]) == {"p", "q"}
    assert fields["c"]["required"] == ["q"]
    assert fields["d"]["items"] == {}
    assert fields["e"]["enum"] == ["x"]


@pytest.mark.parametrize("api", APIS)
def test_a_choice_at_the_root_becomes_one_object_that_takes_all_its_branches(api):
    first = {**obj(a={"type": "string"}, n={"type": "integer"}), "required": ["a", "n"]}
    second = {**obj(b={"type": "string"}, n={"type": "integer"}), "required": ["n", "b"]}
    made = lowered({"anyOf": [first, second]}, RULES[api])
    assert made["type"] == "object"
    assert set(made["properties"]) == {"a", "b", "n"}
    assert made["required"] == ["n"]
    assert not {"anyOf", "oneOf", "allOf"} & set(made)
    for arguments in ({"a": "x", "n": 1}, {"b": "x", "n": 1}):
        jsonschema.validate(arguments, made)


@pytest.mark.parametrize("api", APIS)
def test_an_argument_whose_name_no_service_takes_is_left_out_where_it_may_be(api):
    odd = "a b" + "x" * 80
    assert set(lowered(obj(**{odd: {}, "fine": {}}), RULES[api])["properties"]) == {"fine"}
    with pytest.raises(Unsayable, match="name of its argument"):
        lowered({**obj(**{odd: {}}), "required": [odd]}, RULES[api])


BOMB = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/d0"}},
    "$defs": {
        f"d{k}": {"type": "object", "properties": {c: {"$ref": f"#/$defs/d{k + 1}"} for c in "abcdefgh"}}
        for k in range(12)
    }
    | {"d12": {"type": "string"}},
}
UNSAYABLE = {
    "another document": obj(a={"$ref": "https://example.com/schema.json"}),
    "not there": obj(a={"$ref": "#/$defs/missing"}),
    "too large": BOMB,
    "not an object": {"type": "string"},
    "not JSON": obj(a={"default": object()}),
    "where a schema belongs": obj(a="string"),
    "\\$dynamicRef": obj(a={"$dynamicRef": "#x"}),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("why", [why for why in UNSAYABLE if why != "not JSON"])
def test_a_tool_that_cannot_be_said_is_left_out_by_name_and_the_others_stay(api, why):
    tools = (spec("good"), spec("bad.tool", UNSAYABLE[why]), spec("fine"))
    made = offer(RULES[api], tools)
    assert [tool.name for tool in made.tools] == ["good", "fine"]
    assert len(made.notes) == 1
    assert "'bad.tool'" in made.notes[0]
    with pytest.raises(Unsayable, match=why):
        lowered(UNSAYABLE[why], RULES[api])


def test_a_schema_that_is_no_json_leaves_its_tool_out():
    made = offer(RULES["openai-responses"], (spec("bad", UNSAYABLE["not JSON"]), spec("good")))
    assert [tool.name for tool in made.tools] == ["good"]


@pytest.mark.parametrize("api", APIS)
def test_names_on_the_wire_are_in_every_alphabet_and_never_the_same(api):
    names = ["my.very-long-server/a/b.c" * 4, "a.b", "a/b", "a_b", "1st", "é", "", "fine-Name_1"]
    made = offer(RULES[api], tuple(map(spec, names)))
    wire = [tool.name for tool in made.tools]
    assert len(set(wire)) == len(names)
    for name in wire:
        assert 1 <= len(name) <= 64
        assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
    assert [made.names.get(name, name) for name in wire] == names
    alone = offer(RULES[api], (spec("a.b"),)).tools[0].name
    assert alone in wire  # what else is offered does not change a name


def test_the_second_of_two_tools_with_one_name_is_left_out():
    made = offer(RULES["openai-chat"], (spec("a"), spec("a")))
    assert len(made.tools) == 1
    assert "another tool has that name" in made.notes[0]


def test_our_own_tools_go_out_as_they_are(tmp_path):
    from wisp.messages.ids import FixedClock
    from wisp.tools.builtin import default_tools
    from wisp.workspace.root import Workspace

    workspace = Workspace(str(tmp_path))
    tools = default_tools(workspace, environment={}, clock=FixedClock(), spool_folder=str(tmp_path))
    specs = tuple(tool.spec for tool in tools)
    workspace.close()
    for api in APIS:
        assert offer(RULES[api], specs).tools == specs


TREE = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/Node"}},
    "required": ["tree"],
    "$defs": {
        "Node": {
            "type": "object",
            "description": "a node",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                "next": {"$ref": "#/$defs/Node", "description": "the next one"},
                "other": {"$ref": "#/$defs/Either"},
            },
            "required": ["value"],
            "additionalProperties": False,
        },
        "Either": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "string"}]},
    },
}
NODES = st.recursive(
    st.fixed_dictionaries({"value": st.integers(-5, 5)}),
    lambda node: st.fixed_dictionaries(
        {"value": st.integers(-5, 5)},
        optional={
            "children": st.lists(node, max_size=3),
            "next": node,
            "other": st.one_of(node, st.text(max_size=3)),
        },
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("api", APIS)
@given(node=NODES)
@settings(deadline=None)
def test_a_schema_within_itself_is_offered_and_takes_all_that_the_tool_takes(api, node):
    made = lowered(TREE, RULES[api])
    assert "$ref" not in words_of(made)
    jsonschema.validate({"tree": node}, TREE)
    jsonschema.validate({"tree": node}, made)
    for wrong in ({}, {"tree": {}}, {"tree": {"value": "x"}}, {"tree": {"value": 1, "next": 3}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, made)


def test_where_a_schema_begins_anew_only_its_type_and_what_it_means_are_said():
    made = lowered(TREE, RULES["gemini"])
    assert words_of(made) <= RULES["gemini"].known
    fields = made["properties"]["tree"]["properties"]
    assert fields["children"]["items"] == {"type": "object", "description": "a node"}
    assert fields["next"] == {"type": "object", "description": "the next one"}
    assert fields["other"] == {"anyOf": [{"type": "object", "description": "a node"}, {"type": "string"}]}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {**obj(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        obj(a={"$ref": "#"}, b={"type": ["array", "null"], "items": {"$ref": "#/properties/b"}}),
        {
            **obj(a={"$ref": "#/$defs/A"}),
            "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "string"}]}},
        },
        {"allOf": [{"$ref": "#"}, obj(a={"type": "string"})]},
    ],
)
def test_any_circle_of_references_ends(api, schema):
    (tool,) = offer(RULES[api], (spec("t", schema),)).tools
    assert tool.parameters["type"] == "object"
    assert "$ref" not in words_of(tool.parameters)
    jsonschema.Draft202012Validator.check_schema(tool.parameters)


@pytest.mark.parametrize("api", APIS)
async def test_a_call_comes_back_under_the_tools_own_name(api):
    tool = spec("my.server/do it")
    bad = spec("broken", UNSAYABLE["not there"])

    def script(request):
        if request.results:
            return Step(text="done")
        assert len(request.tools) == 1
        return Step(calls=(Call(request.tools[0], {"x": "1"}),))

    from wisp.testing.asking import results_for

    async with ModelServer(script) as server:
        provider = provider_for(server, api)
        history = [user("go")]
        for _ in range(2):
            request = ModelRequest(MODEL, tuple(history), (), (tool, bad))
            events = [event async for event in provider.stream(request)]
            assert isinstance(events[0], Repaired)
            assert "'broken'" in events[0].notes[0]
            assert isinstance(events[-1], Finished)
            message = events[-1].message
            history += [message, *results_for(message)]
        await provider.aclose()
        call = history[1].calls[0]
        assert call.name == "my.server/do it"
        assert [e.name for e in events if isinstance(e, PartStarted)] in ([], [""])
        assert not [e for e in events if isinstance(e, PartEnded) and hasattr(e.block, "name")]
        assert server.problems == []
        wire = server.requests[0].tools[0]
        assert server.requests[1].body.count(wire.encode()) >= 2  # offered, and in the history
        assert b"my.server/do it" not in server.requests[1].body
        assert KEY.encode() not in server.requests[1].body


@pytest.mark.parametrize("api", APIS)
def test_every_body_of_a_hostile_tool_list_is_json(api):
    tools = (
        *(spec(f"tool.{k}", schema) for k, schema in enumerate(UNSAYABLE.values())),
        spec("x", B070),
    )
    wire = dialect(api).builder("case").build(ModelRequest(MODEL, (user("a"),), (), tools))
    msgspec.json.decode(wire.body)
    assert len(wire.notes) >= len(UNSAYABLE) - 1
    assert b"$ref" not in wire.body


WORDS = st.sampled_from(["a", "b", "x y", "k" * 70, "object", "string", "#/$defs/a", "#", "https://x"])
VALUES = st.none() | st.booleans() | st.integers(-3, 3) | WORDS
KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "not",
        "if",
        "additionalProperties",
        "prefixItems",
        "description",
        "pattern",
        "minimum",
        "default",
        "title",
        "$schema",
        "patternProperties",
        "format",
    ]
)
SCHEMAS = st.recursive(
    st.fixed_dictionaries({}, optional={"type": st.sampled_from(["object", "string", "array", "null"])}),
    lambda inner: st.dictionaries(
        KEYWORDS,
        inner
        | st.lists(inner, max_size=3)
        | st.dictionaries(WORDS, inner, max_size=3)
        | VALUES
        | st.lists(VALUES, max_size=3),
        max_size=5,
    ),
    max_leaves=12,
)


@given(SCHEMAS)
def test_whatever_a_tool_offers_what_goes_out_is_a_schema_or_the_tool_is_left_out(schema):
    for api in APIS:
        made = offer(RULES[api], (spec("odd", {"type": "object", **schema}), spec("good")))
        assert made.tools[-1].name == "good"
        assert len(made.tools) + len(made.notes) == 2
        for tool in made.tools:
            jsonschema.Draft202012Validator.check_schema(tool.parameters)
            assert "$ref" not in words_of(tool.parameters)
            assert tool.parameters["type"] == "object"
