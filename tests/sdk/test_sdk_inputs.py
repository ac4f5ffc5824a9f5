"""Schemas of inputs: from p fields, from JSON Schema, from type hints."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import pytest
from median_tools import Json, ToolContext, define, p
from median_tools.tool import Input

from tests.sdk.world import SECRET


def schema(function: Callable[..., object], given: Input | None = None) -> Any:
    tools = define(secret=SECRET)
    tools.tool(description="A tool.", name="tool", input=given)(function)
    return input_of(tools.manifest())


def input_of(manifest: Any) -> Any:
    (entry,) = manifest["tools"]
    return entry["input"]


@pytest.mark.parametrize(
    ("field", "written"),
    [
        (p.string(), {"type": "string"}),
        (
            p.string("A code.", min_length=1, max_length=9, pattern="^A", format="email"),
            {
                "type": "string", "minLength": 1, "maxLength": 9, "pattern": "^A", "format": "email",
                "description": "A code.",
            },
        ),
        (
            p.number(minimum=0, maximum=9.5, multiple_of=0.01),
            {"type": "number", "minimum": 0, "maximum": 9.5, "multipleOf": 0.01},
        ),
        (p.integer(minimum=0), {"type": "integer", "minimum": 0}),
        (p.boolean("Sure?"), {"type": "boolean", "description": "Sure?"}),
        (p.enum(["a", 1, None]), {"enum": ["a", 1, None]}),
        (
            p.array(p.string(), min_items=1, max_items=3),
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
        ),
        (
            p.object({"a": p.string(), "b": p.string().optional()}, "Both."),
            {
                "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "required": ["a"], "additionalProperties": False, "description": "Both.",
            },
        ),
    ],
)  # fmt: skip
def test_fields(field: p.Field, written: Json) -> None:
    assert field.schema == written


def test_a_field_is_never_changed_in_place() -> None:
    field = p.string("One.")
    assert field.describe("Two.").schema == {"type": "string", "description": "Two."}
    assert (field.optional().required, field.required) == (False, True)
    assert field.schema == {"type": "string", "description": "One."}


def test_a_schema_is_used_as_it_stands() -> None:
    given: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert schema(lambda input, context: None, given) == given


def test_type_hints_become_the_schema_and_the_arguments() -> None:
    tools = define(secret=SECRET)

    @tools.tool(description="Everything.")
    def everything(
        who: ToolContext,
        text: Annotated[str, "Some text."],
        days: Annotated[int, p.integer("How many.", minimum=1)],
        ratio: float,
        sure: bool,
        kind: Literal["a", "b"],
        names: list[str],
        counts: dict[str, int],
        anything: dict,
        note: str | None = None,
        old: Optional[int] = 7,  # noqa: UP045 - the older spelling must work as well
        when: Literal["now"] | None = None,
    ) -> list[Json]:
        return [who.tool_call_id, text, days, ratio, sure, kind, *names, counts["x"], note, old]

    client = tools.test_client()
    assert input_of(client.manifest()) == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "Some text."},
            "days": {"type": "integer", "minimum": 1, "description": "How many."},
            "ratio": {"type": "number"},
            "sure": {"type": "boolean"},
            "kind": {"enum": ["a", "b"]},
            "names": {"type": "array", "items": {"type": "string"}},
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            "anything": {"type": "object"},
            "note": {"type": ["string", "null"]},
            "old": {"type": ["integer", "null"]},
            "when": {"anyOf": [{"enum": ["now"]}, {"type": "null"}]},
        },
        "required": ["text", "days", "ratio", "sure", "kind", "names", "counts", "anything"],
        "additionalProperties": False,
    }
    given: dict[str, Json] = {
        "text": "t", "days": 2, "ratio": 0.5, "sure": True, "kind": "b", "names": ["n"], "counts": {"x": 1},
        "anything": {},
    }  # fmt: skip
    reply = client.call("everything", given, tool_call_id="call_7")
    assert (reply.status, reply.data) == (200, ["call_7", "t", 2, 0.5, True, "b", "n", 1, None, 7])
    wrong = client.call("everything", {**given, "old": "7"})
    assert wrong.data["error"]["message"] == "old must be of type integer or null, not string."


def test_hints_that_say_nothing_are_refused() -> None:
    def unhinted(orderNumber) -> None: ...

    def foreign(when: complex) -> None: ...

    def several(*numbers: str) -> None: ...

    def one(input: str) -> None: ...

    for function, error in (
        (unhinted, "unhinted: orderNumber needs a type hint, or give the tool input="),
        (foreign, "foreign: when has the type <class 'complex'>"),
        (several, "several: .args"),
    ):
        with pytest.raises(TypeError, match=f"^{error}"):
            schema(function)
    with pytest.raises(ValueError, match="^tool: with input= the function must take .input, context.$"):
        schema(one, {"a": p.string()})
    with pytest.raises(TypeError, match="^input mixes p fields with JSON Schema"):
        schema(lambda input, context: None, {"a": p.string(), "type": "object"})


def test_an_unhinted_context_is_still_the_context() -> None:
    assert schema(lambda context: None) == {
        "type": "object", "properties": {}, "required": [], "additionalProperties": False,
    }  # fmt: skip
