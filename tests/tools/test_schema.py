"""Input schemas: what is refused at sync and where, what every input is told. Inputs are the JSON text that came."""

import time

import pytest

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tools import schema, schema_words
from tools.schema import FieldError, SchemaError

OBJECT: dict[str, Json] = {"type": "object"}
UNRESOLVED = {"$ref": "#/$defs/Gone"}


def of(**properties: Json) -> dict[str, Json]:
    return OBJECT | {"properties": properties}


def told(given: Json, text: str) -> list[str]:
    """What an input is told; each sentence begins with the path that it is filed under."""
    errors = schema.check_input(schema.compile_schema(given), strict_json.loads(text))
    assert all(error.message.startswith(error.path or "The input") for error in errors)
    return [error.message for error in errors]


def sent(given: Json, text: str) -> str:
    """What leaves of an input that fits."""
    assert told(given, text) == []
    return strict_json.dumps(schema.normalize(schema.compile_schema(given), strict_json.loads(text)))


# What a schema may be


@pytest.mark.parametrize("given", [None, {}, {"type": "object"}, "{}", '{"type":"object"}'])
def test_a_tool_without_fields(given: Json) -> None:
    assert sent(given, "{}") == "{}"
    assert told(given, '{"a":1}') == ["a is not a field of this tool."]
    assert not schema.compile_schema(given).needs_input
    assert schema.for_model(given) == {"type": "object", "properties": {}}


def nested(levels: int) -> Json:
    inner: Json = {"type": "string"}
    for _ in range(levels - 1):
        inner = of(a=inner)
    return inner


def doubling(steps: int) -> Json:
    """Each definition asks for the next one twice."""
    chain: dict[str, Json] = {
        f"d{at}": {"properties": {"a": {"$ref": f"#/$defs/d{at + 1}"}, "b": {"$ref": f"#/$defs/d{at + 1}"}}}
        for at in range(steps)
    }
    return OBJECT | {"$ref": "#/$defs/d0", "$defs": chain | {f"d{steps}": OBJECT}}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        (True, "", 'The top of the schema must say "type": "object".'),
        ([], "", 'The top of the schema must say "type": "object".'),
        ({"type": "string"}, "", 'The top of the schema must say "type": "object".'),
        ({"type": ["object", "null"]}, "", 'The top of the schema must say "type": "object".'),
        ({"properties": {}}, "", 'The top of the schema must say "type": "object".'),
        ({"anyOf": [OBJECT, OBJECT]}, "", 'The top of the schema must say "type": "object".'),
        (of(a=UNRESOLVED), "/properties/a/$ref", "#/$defs/Gone is not in the schema."),
        (OBJECT | {"$defs": {"A": UNRESOLVED}}, "/$defs/A/$ref", "#/$defs/Gone is not in the schema."),
        (of(a={"$dynamicRef": "#a"}), "/properties/a/$dynamicRef", "$dynamicRef is not supported here."),
        (of(a={"$id": "https://example.com/a"}), "/properties/a/$id", "$id is not supported here."),
        (OBJECT | {"$ref": "#"}, "/$ref", "A reference leads to the next one without end."),
        (OBJECT | {"description": "x" * 32_768}, "", "The schema is larger than 32 KB."),
        (of(a={"description": "\0"}), "/properties/a/description", "The schema holds a NUL character."),
        (OBJECT | {"required": "a"}, "/required", 'It is not of type "array".'),
        ("{", "", "Expecting property name enclosed in double quotes (line 1, column 2)."),
    ],
)  # fmt: skip
def test_schemas_that_are_refused(given: Json, path: str, message: str) -> None:
    with pytest.raises(SchemaError) as refused:
        schema.compile_schema(given)
    assert (refused.value.path, refused.value.message) == (path, message)


@pytest.mark.parametrize("ref", ["http://169.254.169.254/latest/", "file:///etc/hostname", "other.json", "#name", ""])
def test_references_elsewhere_are_refused(ref: str) -> None:
    with pytest.raises(SchemaError, match="A reference must point into this schema") as refused:
        schema.compile_schema(of(a={"$ref": ref}))
    assert refused.value.path == "/properties/a/$ref"


def test_a_property_may_be_called_ref() -> None:
    assert sent(OBJECT | {"properties": {"$ref": {"type": "string"}}}, '{"$ref":"x"}') == '{"$ref":"x"}'


def test_eight_levels_and_no_more() -> None:
    assert schema.compile_schema(nested(8)).schema == nested(8)
    for deeper in (nested(9), of(a={"$ref": "#"}), doubling(9)):
        with pytest.raises(SchemaError, match="deeper than 8 levels"):
            schema.compile_schema(deeper)


@pytest.mark.parametrize("pattern", ["(?=a)b", "(a)\\1", "(?<!a)b", "(", "(\\p{L}{1,100}){1,100}"])
@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_patterns_that_could_be_slow_are_refused(keyword: str, pattern: str) -> None:
    given = of(a={keyword: pattern}) if keyword == "pattern" else OBJECT | {keyword: {pattern: {}}}
    with pytest.raises(SchemaError, match="The pattern cannot be run in linear time, or is too large.") as refused:
        schema.compile_schema(given)
    assert keyword in refused.value.path


def test_too_many_patterns_are_refused() -> None:
    schema.compile_schema(of(**{f"f{at}": {"pattern": f"^{at}$"} for at in range(20)}))
    with pytest.raises(SchemaError, match="more than 20 patterns"):
        schema.compile_schema(of(**{f"f{at}": {"pattern": f"^{at}$"} for at in range(21)}))


def test_a_pattern_that_others_never_finish() -> None:
    began = time.monotonic()
    assert told(of(a={"type": "string", "pattern": "^(a+)+$"}), f'{{"a":"{"a" * 40}!"}}') == [
        'a does not match "^(a+)+$".'
    ]
    assert time.monotonic() - began < 1


def test_a_schema_is_compiled_once() -> None:
    assert schema.compile_schema(of(a={})) is schema.compile_schema('{"type": "object", "properties": {"a": {}}}')


# What an input is told


def test_required_fields() -> None:
    given = of(orderNumber={"type": "string"}, address=of(street={}) | {"required": ["street"]}) | {
        "required": ["orderNumber"]
    }
    assert told(given, "{}") == ["orderNumber is needed to run this."]
    assert told(given, '{"orderNumber":"7","address":{}}') == ["address.street is needed to run this."]
    assert schema.compile_schema(given).needs_input


@pytest.mark.parametrize("value", ["7", "7.0", "7e0", "70e-1"])
def test_whole_numbers_leave_as_one_number(value: str) -> None:
    assert sent(of(days={"type": "integer"}), f'{{"days":{value}}}') == '{"days":7}'


def test_integers_keep_every_digit() -> None:
    for value, leaves in (("12345678901234567890123", "12345678901234567890123"), ("1e20", "1" + "0" * 20)):
        assert sent(of(days={"type": "integer"}), f'{{"days":{value}}}') == f'{{"days":{leaves}}}'


@pytest.mark.parametrize(
    ("wanted", "value", "message"),
    [
        ("integer", '"7"', 'field must be an integer, not the string "7".'),
        ("integer", "true", "field must be an integer, not the boolean true."),
        ("integer", "7.5", "field must be an integer, not the number 7.5."),
        ("integer", "null", "field must be an integer, not null."),
        ("string", "1042", "field must be a string, not the number 1042."),
        ("string", "1042.0", "field must be a string, not the number 1042.0."),
        ("boolean", '"false"', 'field must be a boolean, not the string "false".'),
        ("array", '"[\\"A1\\"]"', 'field must be an array, not the string "["A1"]".'),
        ("integer", '"1e3"', 'field must be an integer, not the string "1e3".'),
        ("object", '"{}"', 'field must be an object, not the string "{}".'),
        ("object", "[]", "field must be an object, not an array."),
        ("number", "{}", "field must be a number, not an object."),
        (["integer", "null"], '""', 'field must be an integer or null, not the string "".'),
        ("integer", f'"{"x" * 100}"', f'field must be an integer, not the string "{"x" * 39}…".'),
    ],
)
def test_types_are_exact(wanted: Json, value: str, message: str) -> None:
    assert told(of(field={"type": wanted}), f'{{"field":{value}}}') == [message]


@pytest.mark.parametrize("value", ['"007"', '"0123"', '"1e3"', '"١٢٣"', '" 12 "', '"[draft]"', '""'])
@pytest.mark.parametrize("wanted", ["string", ["integer", "string"]])
def test_texts_leave_as_they_are(wanted: Json, value: str) -> None:
    assert sent(of(a={"type": wanted}), f'{{"a":{value}}}') == f'{{"a":{value}}}'


@pytest.mark.parametrize("value", ["1.11", "2.13", "10.11", "19.99", "0.07", "20.00", "7", "92.6", "1e2"])
def test_cents_are_multiples_of_a_hundredth(value: str) -> None:
    assert sent(of(amount={"type": "number", "multipleOf": 0.01}), f'{{"amount":{value}}}') == f'{{"amount":{value}}}'


@pytest.mark.parametrize("value", ["1.115", "19.990000000000002", "19.990000000000000001"])
def test_other_amounts_are_not(value: str) -> None:
    given = of(amount={"type": "number", "multipleOf": 0.01})
    assert told(given, f'{{"amount":{value}}}') == ["amount is not a multiple of 0.01."]


@pytest.mark.parametrize(
    ("given", "text", "messages"),
    [
        (of(a={}), '{"a":1,"b":2}', ["b is not a field of this tool."]),
        (of(a={}) | {"additionalProperties": False}, '{"b":2}', ["b is not a field of this tool."]),
        (of(a={}) | {"additionalProperties": True}, '{"b":2}', []),
        (of(a={}) | {"additionalProperties": {"type": "string"}}, '{"b":"x"}', []),
        (OBJECT | {"patternProperties": {"^x-": {}}}, '{"x-a":1}', []),
        (OBJECT | {"patternProperties": {"^x-": {}}}, '{"y":1}', ["y is not a field of this tool."]),
        (of(a=of(b={})), '{"a":{"c":1}}', ["a.c is not a field of this tool."]),
        (of(a={"type": "array", "items": of(b={})}), '{"a":[{},{"c":1}]}', ["a[1].c is not a field of this tool."]),
        (of(free=OBJECT), '{"free":{"any":1}}', []),
        (of(a={"anyOf": [of(b={}), {"type": "null"}]}), '{"a":null}', []),
        (of(a={"anyOf": [of(b={}), {"type": "null"}]}), '{"a":{"c":1}}', ["a.c is not a field of this tool."]),
        (of(a={}) | {"allOf": [{"properties": {"b": {}}}]}, '{"a":1,"b":1,"c":1}', ["c is not a field of this tool."]),
        (of(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": of(b={})}}, '{"a":{"c":1}}',
         ["a.c is not a field of this tool."]),
        (OBJECT | {"anyOf": [of(a={"type": "integer"}) | {"required": ["a"]}, of(b={}) | {"required": ["b"]}]},
         '{"a":"x"}', ["The input is not valid under any of the schemas listed in the 'anyOf' keyword."]),
        (of(a=of(b={})) | {"if": of(a=of(b={"const": 1})), "then": of(a=of(c={}))}, '{"a":{"b":1,"c":1,"d":1}}',
         ["a.d is not a field of this tool."]),
        (OBJECT | {"anyOf": [of(a=of(b={})), of(a=of(c={}))]}, '{"a":{"b":1,"c":1}}', []),
        (OBJECT | {"anyOf": [of(a={}) | {"additionalProperties": False}, of(b={})]}, '{"b":1,"c":1}',
         ["c is not a field of this tool."]),
        (of(a=of(b={})) | {"patternProperties": {"^a": of(c={})}}, '{"a":{"b":1,"c":1},"b":1}',
         ["b is not a field of this tool."]),
    ],
)  # fmt: skip
def test_undeclared_keys_are_refused_by_name(given: Json, text: str, messages: list[str]) -> None:
    assert told(given, text) == messages


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ({"enum": ["late", "broken"]}, '"lost"', 'a is not one of "late" or "broken".'),
        ({"const": 5}, "6", "a: 5 was expected."),
        ({"minLength": 2}, '"x"', "a is shorter than 2 characters."),
        ({"maximum": 14}, "15", "a is greater than the maximum of 14."),
        ({"format": "date"}, '"2026-13-01"', 'a must be a date, like 2026-01-31, not the string "2026-13-01".'),
        ({"format": "email"}, '"ana"', 'a must be an email address, not the string "ana".'),
        ({"format": "ipv4"}, '"1.2"', 'a must be of the format "ipv4", not the string "1.2".'),
        ({"minItems": 1}, "[]", "a has less than 1 item."),
    ],
)
def test_other_faults_name_the_field(field: Json, value: str, message: str) -> None:
    assert told(of(a=field), f'{{"a":{value}}}') == [message]


def test_what_cannot_be_stored_is_refused() -> None:
    holds = "holds a NUL or half a character (a lone surrogate)."
    assert told(of(a={}), '{"a":{"b":["\\u0000"]}}') == [f"a.b[0] {holds}"]
    assert told(of(a={}), '{"a":"\\ud800"}') == [f"a {holds}"]
    assert told(of(a={}), '{"k\\u0000":1}') == [f"k\u2400 {holds}"]


def test_numbers_that_json_lacks_are_refused() -> None:
    found = schema.check_input(schema.compile_schema(of(a={})), {"a": [float("nan")]})
    assert found == [FieldError("a[0]", "a[0] must be a finite number.")]


@pytest.mark.parametrize(
    ("value", "came"), [([], "an array"), ("{}", 'the string "{}"'), (None, "null"), (7, "the number 7")]
)
def test_an_input_is_an_object(value: Json, came: str) -> None:
    found = schema.check_input(schema.compile_schema(None), value)
    assert found == [FieldError("", f"The input must be an object, not {came}.")]


def test_the_size_of_an_input() -> None:
    assert told(of(a={}), f'{{"a":"{"x" * (32_768 - 8)}"}}') == []
    assert told(of(a={}), f'{{"a":"{"x" * (32_768 - 7)}"}}') == ["The input is larger than 32 KB."]


def test_at_most_twenty_faults_are_told() -> None:
    assert len(told(None, strict_json.dumps({f"k{at}": at for at in range(50)}))) == 20


@pytest.mark.parametrize(
    ("given", "text", "leaves"),
    [
        (of(n={"type": "number"}), '{"n":7.0}', '{"n":7.0}'),
        (of(n={}), '{"n":7.0}', '{"n":7.0}'),
        (of(n={"type": ["integer", "null"]}), '{"n":7.0}', '{"n":7}'),
        (of(n={"anyOf": [{"type": "integer"}, {"type": "string"}]}), '{"n":7.0}', '{"n":7}'),
        (of(n={"$ref": "#/$defs/N"}) | {"$defs": {"N": {"type": "integer"}}}, '{"n":7.0}', '{"n":7}'),
        (of(n={"type": "array", "items": of(m={"type": "integer"})}), '{"n":[{"m":1.0},{}]}', '{"n":[{"m":1},{}]}'),
        (of(n={"prefixItems": [{"type": "integer"}], "items": {}}), '{"n":[1.0,1.0]}', '{"n":[1,1.0]}'),
        (OBJECT | {"patternProperties": {"^x": {"type": "integer"}}}, '{"x":1.0}', '{"x":1}'),
        (OBJECT | {"additionalProperties": {"type": "integer"}}, '{"y":1.0}', '{"y":1}'),
        (OBJECT | {"allOf": [of(n={"type": "integer"})]}, '{"n":1.0}', '{"n":1}'),
    ],
)  # fmt: skip
def test_whole_numbers_leave_whole_wherever_the_schema_says_integer(given: Json, text: str, leaves: str) -> None:
    assert sent(given, text) == leaves


def test_the_schema_for_a_model_combines_nothing_at_the_top() -> None:
    given = of(z={}) | {"required": ["z"], "anyOf": [of(a={"type": "integer"}), {"$ref": "#/$defs/B"}],
                        "$defs": {"B": of(b={})}}  # fmt: skip
    assert schema.for_model(given) == {
        "type": "object",
        "properties": {"z": {}, "b": {}, "a": {"type": "integer"}},
        "required": ["z"],
        "$defs": {"B": of(b={})},
    }


def test_a_field_of_several_alternatives_is_told_to_a_model_with_all_of_them() -> None:
    card, bank = of(kind={"const": "card"}, number={}), of(kind={"const": "bank"}, iban={})
    assert schema.for_model(OBJECT | {"oneOf": [card, bank]}) == of(
        kind={"anyOf": [{"const": "card"}, {"const": "bank"}]}, number={}, iban={}
    )


def test_a_list_of_many_items_with_many_alternatives_is_checked_at_once() -> None:
    shapes: list[Json] = [of(**{f"k{at}": {}}) | {"required": [f"k{at}"]} for at in range(400)]
    given = of(a={"type": "array", "items": {"anyOf": shapes}})
    fits, fails = (f'{{"a":[{",".join(f"{{{text}}}" for text in each)}]}}' for each in (
        [f'"k{at % 400}":1' for at in range(2_500)], ['"zz":1'] * 3_000,
    ))  # fmt: skip
    began = time.monotonic()
    assert sent(given, fits) == fits
    assert told(given, fails)[0] == "a[0] is not valid under any of the schemas listed in the 'anyOf' keyword."
    assert time.monotonic() - began < 2


def test_a_reference_may_lead_through_a_list() -> None:
    given = of(a={"anyOf": [{"type": "integer"}, {"type": "null"}]}, b={"$ref": "#/properties/a/anyOf/0"})
    assert told(given, '{"b":null}') == ["b must be an integer, not null."]
    with pytest.raises(SchemaError, match="#/properties/a/anyOf/2 is not in the schema"):
        schema.compile_schema(given | {"properties": given["properties"] | {"c": {"$ref": "#/properties/a/anyOf/2"}}})  # type: ignore[operator]


def test_an_example_to_start_from_fits_where_the_schema_says_enough() -> None:
    given = of(
        to=of(city={"type": ["null", "string"]}, zip={}) | {"required": ["city"]},
        lines={"type": "array", "minItems": 2, "items": {"enum": ["a", "b"]}},
        count={"type": "integer", "default": 3}, note={"type": "string"},
    ) | {"required": ["to", "lines", "count"]}  # fmt: skip
    text = schema_words.example(strict_json.dumps(given))
    assert strict_json.loads(text) == {"to": {"city": ""}, "lines": ["a", "a"], "count": 3}
    assert told(given, text) == []
