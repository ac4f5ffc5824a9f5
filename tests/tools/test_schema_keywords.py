"""Every keyword of JSON Schema 2020-12 holds, or is refused with its place; no schema and no input breaks anything."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tools import schema
from tools.schema import SchemaError

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "keywords.json").read_text())
SKU: Json = {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}
# Of the core vocabulary these are refused: they could point anywhere, or bend what a reference means.
REFUSED = {"$id": "https://example.com/a", "$dynamicRef": "#here"}
KEYWORDS = {
    "$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary",
    "additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding", "contentMediaType",
    "contentSchema", "default", "dependentRequired", "dependentSchemas", "deprecated", "description", "else", "enum",
    "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items", "maxContains", "maxItems", "maxLength",
    "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "not",
    "oneOf", "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "readOnly", "required",
    "then", "title", "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "writeOnly",
}  # fmt: skip


def of_field(given: Json) -> dict[str, Json]:
    return {"type": "object", "properties": {"field": given}, "$defs": {"Sku": SKU}}


@pytest.mark.parametrize("case", CASES, ids=[case["keyword"] for case in CASES])
def test_what_a_keyword_allows(case: dict[str, Any]) -> None:
    compiled = schema.compile_schema(of_field(case["schema"]))

    def errors(value: Json) -> list[schema.FieldError]:
        return schema.check_input(compiled, strict_json.loads(json.dumps({"field": value})))

    assert [value for value in case["fits"] if errors(value)] == []
    assert [value for value in case["refused"] if not errors(value)] == []


@pytest.mark.parametrize("keyword", REFUSED)
def test_what_is_refused(keyword: str) -> None:
    with pytest.raises(SchemaError, match="is not supported here") as refused:
        schema.compile_schema(of_field({keyword: REFUSED[keyword]}))
    assert refused.value.path == f"/properties/field/{keyword}"


def test_the_bounds_hold_in_every_way_that_leads_the_validator_on() -> None:
    spelled: dict[str, Json] = {}
    for at in range(9):  # each asks for the next one twice, by a name that is another one if taken as it is written
        spelled |= {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/%64{at + 1}"}] * 2}, f"%64{at + 1}": {}}
    older: Json = {"type": "string"}
    for _ in range(8):
        older = {"dependencies": {"a": older}}
    for deeper in ({"type": "object", "$defs": spelled | {"d9": SKU}}, of_field(older)):
        with pytest.raises(SchemaError, match="deeper than 8 levels"):
            schema.compile_schema(deeper)


def test_a_part_of_another_draft_is_refused() -> None:
    with pytest.raises(SchemaError, match="A part of a schema cannot be of another draft") as refused:
        schema.compile_schema(of_field({"$schema": "http://json-schema.org/draft-04/schema#", "id": "urn:a"}))
    assert refused.value.path == "/properties/field/$schema"


def test_a_reference_may_spell_a_name_by_its_octets() -> None:
    compiled = schema.compile_schema(of_field({"$ref": "#/$defs/gr%C3%B6%C3%9Fe"}) | {"$defs": {"größe": SKU}})
    assert schema.check_input(compiled, {"field": "A-1"}) == []
    assert schema.check_input(compiled, {"field": "a"}) != []


def test_no_keyword_is_left_out() -> None:
    said = {keyword for case in CASES if isinstance(case["schema"], dict) for keyword in case["schema"]}
    assert said | REFUSED.keys() == KEYWORDS
    assert VALUES.keys() == KEYWORDS


NAMES = st.sampled_from(["a", "b", "", "x-a", "a/b~c", "größe", "$ref"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**25) | st.sampled_from([7.0, 0.1, 1e300]) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
COUNTS = st.integers(0, 3)
SCHEMAS: st.SearchStrategy[Json] = st.deferred(lambda: st.booleans() | KEYWORD_SETS)
LISTS = st.lists(SCHEMAS, min_size=1, max_size=2)
# The validator leaves an empty name out of the places that it gives.
MAPS = st.dictionaries(NAMES.filter(bool), SCHEMAS, max_size=2)
PATTERNS = st.sampled_from(["^a", "[0-9]+$", "(a)\\1", "(", "^\\p{L}*$"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "date"])
FORMATS = st.sampled_from(["date", "date-time", "email", "uri", "regex", "uuid", "ipv6", "made-up"])
NUMBERS = st.sampled_from([-1, 0, 1, 2.5, 0.01, 10**30])
URIS = st.sampled_from(["#", "#/$defs/a", "#/$defs/gone", "#a", "https://example.com/a", "#/properties/a", "%"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(["allOf", "anyOf", "oneOf", "prefixItems"], LISTS),
    **dict.fromkeys(["properties", "$defs", "dependentSchemas"], MAPS),
    **dict.fromkeys(
        ["additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames", "contentSchema",
         "unevaluatedItems", "unevaluatedProperties"], SCHEMAS,
    ),
    **dict.fromkeys(
        ["maxItems", "minItems", "maxLength", "minLength", "maxProperties", "minProperties", "maxContains",
         "minContains"], COUNTS,
    ),
    **dict.fromkeys(["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"], NUMBERS),
    **dict.fromkeys(["$ref", "$id", "$dynamicRef", "$schema"], URIS),
    **dict.fromkeys(["uniqueItems", "deprecated", "readOnly", "writeOnly"], st.booleans()),
    **dict.fromkeys(["title", "description", "$comment", "contentEncoding", "contentMediaType"], NAMES),
    **dict.fromkeys(["$anchor", "$dynamicAnchor"], NAMES),
    **dict.fromkeys(["const", "default"], JSON),
    **dict.fromkeys(["enum", "examples"], st.lists(JSON, max_size=3)),
    "type": TYPES | st.lists(TYPES, max_size=2),
    "pattern": PATTERNS,
    "patternProperties": st.dictionaries(PATTERNS, SCHEMAS, max_size=2),
    "required": st.lists(NAMES, max_size=2),
    "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2), max_size=2),
    "format": FORMATS,
    "$vocabulary": st.dictionaries(URIS, st.booleans(), max_size=1),
}  # fmt: skip


def held(keyword: str) -> st.SearchStrategy[Any]:
    """What may stand under a keyword, and now and then what may not."""
    return st.integers(0, 24).flatmap(lambda chance: JSON if chance == 0 else VALUES[keyword])


KEYWORD_SETS: st.SearchStrategy[Json] = st.lists(st.sampled_from(sorted(VALUES)), max_size=3, unique=True).flatmap(
    lambda keywords: st.fixed_dictionaries({keyword: held(keyword) for keyword in keywords})
)


def is_in(root: Json, path: str) -> bool:
    """Whether a path leads somewhere in the schema, through its references as well."""
    part = root
    for step in path.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, str):  # a reference, which the path goes through
            if not is_in(root, part.removeprefix("#")):
                return False
            part = target(root, part)
        if isinstance(part, dict) and name in part:
            part = part[name]
        elif isinstance(part, list) and name.isdigit() and int(name) < len(part):
            part = part[int(name)]
        else:
            return False
    return True


def target(root: Json, ref: str) -> Json:
    part = root
    for step in ref.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        part = part[int(name)] if isinstance(part, list) else part[name]  # type: ignore[index,call-overload]
    return part


def taken(root: Json) -> tuple[schema.Compiled | None, str]:
    """The schema ready for inputs, or None and where it is at fault."""
    try:
        return schema.compile_schema(root), ""
    except SchemaError as refused:
        return None, refused.path


@settings(max_examples=300, derandomize=True)
@given(KEYWORD_SETS, st.lists(st.dictionaries(NAMES, JSON, max_size=4), max_size=3))
def test_any_schema_is_taken_or_refused_with_its_place_and_any_input_is_judged(given: Any, inputs: list[Any]) -> None:
    root = {"$defs": {"a": {"type": "string"}}, **given, "type": "object"}
    compiled, refused_at = taken(root)
    if compiled is None:
        assert is_in(root, refused_at)
        return
    assert schema.for_model(root)["type"] == "object"
    for value in inputs:
        errors = schema.check_input(compiled, value)
        assert all(error.message.endswith(".") for error in errors)
        if not errors:
            assert schema.check_input(compiled, schema.normalize(compiled, value)) == []
