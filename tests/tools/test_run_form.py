"""Forms made from schemas: which field each construct gets, and the exact input that each way of filling it gives."""

from collections.abc import Mapping, Sequence

import pytest

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tests import world as worlds
from tools import run_fields, run_form, schema
from tools.run_fields import AS_JSON, Field, Kind
from tools.run_form import Form, NoFit, Reading

PHONE = {"title": "Phone", "type": "object", "required": ["kind", "number"],
         "properties": {"kind": {"const": "phone"}, "number": {"type": "string"}}}  # fmt: skip
VIDEO = {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "video"}}}
ADDRESS = {
    "type": "object",
    "required": ["city"],
    "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
}
Properties = Mapping[str, Json]


def made(properties: Properties, *required: str, **more: Json) -> schema.Compiled:
    return schema.compile_schema({"type": "object", "properties": dict(properties), "required": [*required], **more})


def form_of(properties: Properties, *required: str, **more: Json) -> Field:
    return run_fields.fields_of(made(properties, *required, **more))


def reading(properties: Properties, typed: Mapping[str, Sequence[str]], *required: str, **more: Json) -> Reading:
    compiled = made(properties, *required, **more)
    return run_form.read(run_fields.fields_of(compiled), typed, compiled=compiled)


def sent(properties: Properties, typed: Mapping[str, Sequence[str]], *required: str, **more: Json) -> str:
    """The JSON text that would leave."""
    found = reading(properties, typed, *required, **more)
    assert found.errors == {}
    return strict_json.dumps(schema.normalize(made(properties, *required, **more), found.input))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"type": "string"}, Kind.LINE),
        ({"type": "string", "maxLength": 120}, Kind.LINE),
        ({"type": "string", "maxLength": 121}, Kind.TEXT),
        ({"type": "string", "format": "multiline"}, Kind.TEXT),
        ({"type": "string", "format": "email"}, Kind.LINE),
        ({"type": "string", "format": "date"}, Kind.DATE),
        ({"type": "string", "format": "date-time"}, Kind.MOMENT),
        ({"type": "string", "enum": ["a"]}, Kind.CHOICE),
        ({"type": "integer"}, Kind.INTEGER),
        ({"type": "number"}, Kind.NUMBER),
        ({"type": "boolean"}, Kind.CHOICE),
        ({"const": 3}, Kind.FIXED),
        (ADDRESS, Kind.GROUP),
        ({"properties": {"a": {"type": "string"}}}, Kind.GROUP),
        ({"type": "array", "items": {"type": "string"}}, Kind.LIST),
        ({"oneOf": [PHONE, VIDEO]}, Kind.SHAPES),
        ({"type": ["string", "integer"]}, Kind.SHAPES),
        ({"anyOf": [{"const": "a", "title": "First"}, {"const": "b"}]}, Kind.CHOICE),
        ({"allOf": [{"$ref": "#/$defs/Address"}], "title": "Where"}, Kind.GROUP),
        ({"type": "object"}, Kind.JSON),
        ({"type": "object", "additionalProperties": {"type": "string"}}, Kind.JSON),
        ({"type": "array"}, Kind.JSON),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}}, Kind.JSON),
        ({}, Kind.JSON),
        (True, Kind.JSON),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, Kind.JSON),
        ({"oneOf": [PHONE], "anyOf": [VIDEO]}, Kind.JSON),
    ],
)
def test_every_construct_has_its_field(said: Json, kind: Kind) -> None:
    form = form_of({"x": said}, "x", **{"$defs": {"Address": ADDRESS}})
    assert form.parts[0].kind == kind


@pytest.mark.parametrize("said", [None, {}, {"type": "object"}])
def test_no_fields_however_that_is_written(said: Json) -> None:
    compiled = schema.compile_schema(said)
    form = run_fields.fields_of(compiled)
    assert (form.kind, form.parts) == (Kind.GROUP, ())
    assert run_form.read(form, {}, compiled=compiled) == Reading({}, {}, {"": ""})


def test_labels_and_hints() -> None:
    form = form_of(
        {
            "orderNumber": {"type": "string", "description": "Like ORD-1042."},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "share": {"type": "number", "title": "Share of it", "minimum": 0},
            "a-b": {"type": "string"},
            "aB": {"type": "string"},
            "a_b": {"type": "string"},
        }
    )
    assert [part.label for part in form.parts] == ["Order number", "Days", "Share of it", "a-b", "aB", "a_b"]
    hints = ["Like ORD-1042.", "Whole number, 1 to 14.", "Number, 0 or more.", "", "", ""]
    assert [part.hint for part in form.parts] == hints


def test_what_is_blank_is_not_sent_and_zero_and_false_are() -> None:
    fields = {"amount": {"type": "number"}, "percent": {"type": "integer"}, "notify": {"type": "boolean"}}
    assert sent(fields, {"/amount": [""], "/percent": [""], "/notify": [""]}) == "{}"
    assert sent(fields, {}) == "{}"
    typed = {"/amount": ["0"], "/percent": ["0"], "/notify": ["false"]}
    assert sent(fields, typed) == '{"amount":0,"percent":0,"notify":false}'
    assert sent(fields, typed, "amount", "percent", "notify") == '{"amount":0,"percent":0,"notify":false}'


def test_what_is_needed_is_said_by_the_field() -> None:
    fields = {"orderNumber": {"type": "string"}, "notify": {"type": "boolean"}, "to": ADDRESS}
    found = reading(fields, {"/orderNumber": [""]}, "orderNumber", "notify", "to")
    assert found.errors == {
        "/orderNumber": "orderNumber is needed to run this.",
        "/notify": "notify is needed to run this.",
        "/to/city": "to.city is needed to run this.",
    }


def test_texts_are_sent_as_typed() -> None:
    fields = {"text": {"type": "string", "maxLength": 10}}
    assert sent(fields, {"/text": ["12345\r\n7890"]}) == '{"text":"12345\\n7890"}'
    assert sent(fields, {"/text": ["\n 1042 "]}) == '{"text":"\\n 1042 "}'
    assert sent(fields, {"/text": [" "]}, "text") == '{"text":" "}'
    assert sent(fields, {"/text": ["None"]}) == '{"text":"None"}'


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("7", "7"),
        ("7.0", "7"),
        ("7e0", "7"),
        (" 7 ", "7"),
        ("-0", "0"),
        ("12345678901234567890", "12345678901234567890"),
    ],
)
def test_an_integer_leaves_as_one(typed: str, text: str) -> None:
    assert sent({"days": {"type": "integer"}}, {"/days": [typed]}) == f'{{"days":{text}}}'


@pytest.mark.parametrize("typed", ["20.00", "1e2", "0.1", "-1.50"])
def test_a_number_keeps_its_digits(typed: str) -> None:
    assert sent({"amount": {"type": "number"}}, {"/amount": [typed]}) == f'{{"amount":{typed}}}'


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("7.5", "days must be an integer, not the number 7.5."),
        ("true", 'days must be an integer, not "true".'),
        ("007", 'days must be an integer, not "007".'),
        ("1,000", 'days must be an integer, not "1,000".'),
        ("1\r\n2", 'days must be an integer, not "1\n2".'),
        ("١٢٣", 'days must be an integer, not "١٢٣".'),
        ("12abc", 'days must be an integer, not "12abc".'),
        ("1e999", "days is beyond what a number can hold."),
        ("1e-999", "days is beyond what a number can hold."),
        ("9", "days is greater than the maximum of 8."),
    ],
)
def test_what_is_no_number_is_said_by_the_field(typed: str, message: str) -> None:
    assert reading({"days": {"type": "integer", "maximum": 8}}, {"/days": [typed]}).errors == {"/days": message}


def test_each_choice_is_sent_as_the_value_that_it_is() -> None:
    fields = {"x": {"enum": ["1", 1, True, "true", None, "", 0]}}
    options = form_of(fields).parts[0].options
    assert [option.text for option in options] == ['"1"', "1", "true", '"true"', "null", '""', "0"]
    assert [option.label for option in options] == [option.text for option in options]
    for option in options:
        assert sent(fields, {"/x": [option.text]}, "x") == f'{{"x":{option.text}}}'
    assert reading(fields, {"/x": ["2"]}).errors == {"/x": "x must be one of its choices."}
    assert [option.label for option in form_of({"x": {"enum": ["a", ""]}}).parts[0].options] == ["a", "empty text"]
    titled = form_of({"x": {"oneOf": [{"const": "a", "title": "First"}, {"const": "b"}]}})
    assert [option.label for option in titled.parts[0].options] == ["First (a)", "b"]
    assert len(form_of({"x": {"enum": list(range(300))}}).parts[0].options) == 300


@pytest.mark.parametrize("said", [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}])
def test_null_is_a_choice_and_not_the_word(said: Json) -> None:
    part = form_of({"name": said}).parts[0]
    assert (part.kind, part.nullable) == (Kind.LINE, True)
    assert sent({"name": said}, {"kind:/name": ["value"], "/name": [""]}) == "{}"
    assert sent({"name": said}, {"kind:/name": ["value"], "/name": ["null"]}) == '{"name":"null"}'
    assert sent({"name": said}, {"kind:/name": ["null"], "/name": ["left over"]}) == '{"name":null}'
    assert sent({"name": said}, {"kind:/name": ["null"]}, "name") == '{"name":null}'
    assert run_form.start(form_of({"name": {**said, "default": None}})) == {"kind:/name": ["null"]}


def test_yes_no_or_null() -> None:
    for said in ({"type": ["boolean", "null"]}, {"anyOf": [{"type": "boolean"}, {"type": "null"}]}):
        part = form_of({"x": said}).parts[0]
        assert (part.is_yes_or_no, part.nullable) == (True, False)
        assert part.choices == [("", "Not sent"), ("true", "Yes"), ("false", "No"), ("null", "null")]
        assert sent({"x": said}, {"/x": ["null"]}) == '{"x":null}'


def test_a_group_that_may_be_left_out_is_sent_when_somebody_says_so() -> None:
    fields = {"to": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]}}
    more = {"$defs": {"Address": ADDRESS}}
    part = form_of(fields, **more).parts[0]
    assert (part.kind, part.may_be_left_out, part.nullable) == (Kind.GROUP, True, True)
    typed = {"/to/city": ["Lisboa"], "/to/zip": [""]}
    assert sent(fields, typed, **more) == "{}"
    assert sent(fields, {**typed, "kind:/to": ["value"]}, **more) == '{"to":{"city":"Lisboa"}}'
    assert sent(fields, {**typed, "kind:/to": ["null"]}, **more) == '{"to":null}'


def test_lists() -> None:
    tags = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    fields = {"tags": tags, "email": {"type": "string", "format": "email"}, "ref": {"type": "string"}}
    assert sent(fields, {"/ref": ["R"], "/email": [""]}, "ref") == '{"ref":"R"}'
    two = {"items:/tags": ["0", "4"], "/tags/0": ["a"], "/tags/4": ["b"], "/ref": ["R"]}
    assert sent(fields, two, "ref") == '{"tags":["a","b"],"ref":"R"}'
    wrong = reading(fields, {**two, "/tags/4": [""], "/email": ["me"]}, "ref")
    assert wrong.errors["/tags/4"] == "tags[1] is needed to run this."
    assert list(wrong.errors) == ["/tags/4", "/email"]
    assert sent({"tags": {"type": "array", "items": {"type": "string"}}}, {}, "tags") == '{"tags":[]}'
    form = form_of(fields, "ref", "tags")
    assert run_form.start(form) == {"items:/tags": ["0"]}
    longer = run_form.with_item(form, two, name="/tags")
    assert longer["items:/tags"] == ["0", "4", "5"]
    assert run_form.without_item(longer, name="/tags/4")["items:/tags"] == ["0", "5"]
    assert run_form.with_item(form, two, name="/other") == two
    assert [item.name for item in Form(form, two).items(form.parts[0])] == ["/tags/0", "/tags/4"]


def test_lists_in_lists_and_the_defaults_of_their_items() -> None:
    line = {"type": "object", "required": ["sku"], "properties": {
        "sku": {"type": "string"}, "count": {"type": "integer", "default": 1},
        "marks": {"type": "array", "items": {"type": "string"}}}}  # fmt: skip
    fields = {"lines": {"type": "array", "items": line}}
    form = form_of(fields)
    typed = run_form.with_item(form, {}, name="/lines")
    assert typed["/lines/0/count"] == ["1"]
    typed = {
        **run_form.with_item(form, typed, name="/lines/0/marks"),
        "/lines/0/sku": ["X"],
        "/lines/0/marks/0": ["new"],
    }
    assert sent(fields, typed) == '{"lines":[{"sku":"X","count":1,"marks":["new"]}]}'


def test_one_of_several_shapes() -> None:
    fields = {"where": {"oneOf": [PHONE, VIDEO]}}
    part = form_of(fields).parts[0]
    assert [shape.label for shape in part.parts] == ["Phone", "video"]
    assert sent(fields, {"shape:/where": [""]}) == "{}"
    typed = {"shape:/where": ["0"], "/where|0/number": ["+351"], "/where|1/number": ["other"]}
    assert sent(fields, typed) == '{"where":{"kind":"phone","number":"+351"}}'
    assert sent(fields, {"shape:/where": ["1"]}) == '{"where":{"kind":"video"}}'
    missing = reading(fields, {"shape:/where": ["0"]}, "where")
    assert missing.errors == {"/where|0/number": "where.number is needed to run this."}
    assert reading(fields, {}, "where").errors == {"/where": "where is needed to run this."}
    assert reading(fields, {"shape:/where": ["7"]}, "where").errors == {"/where": "where is needed to run this."}


def test_a_type_by_choice_is_kept_apart() -> None:
    fields = {"id": {"type": ["string", "integer"]}}
    assert sent(fields, {"shape:/id": ["0"], "/id|0": ["5"], "/id|1": ["6"]}) == '{"id":"5"}'
    assert sent(fields, {"shape:/id": ["1"], "/id|0": ["5"], "/id|1": ["6"]}) == '{"id":6}'
    wrong = reading(fields, {"shape:/id": ["1"], "/id|1": ["x"]})
    assert wrong.errors == {"/id|1": 'id must be an integer, not "x".'}


def test_moments_need_their_zone() -> None:
    fields = {"at": {"type": "string", "format": "date-time"}}
    typed = {"/at": ["2025-06-05T10:30"], "zone:/at": ["+01:00"]}
    assert sent(fields, typed) == '{"at":"2025-06-05T10:30:00+01:00"}'
    assert sent(fields, {"/at": ["2025-06-05T10:30:07"], "zone:/at": ["Z"]}) == '{"at":"2025-06-05T10:30:07Z"}'
    assert list(reading(fields, {"/at": ["2025-06-05T10:30"], "zone:/at": [""]}).errors) == ["/at"]
    assert sent(fields, {"/at": [""], "zone:/at": ["+01:00"]}) == "{}"


def test_json_where_no_field_fits() -> None:
    fields = {"meta": {"type": "object"}}
    assert sent(fields, {"/meta": ['{"b": 1.0, "a": [null]}']}) == '{"meta":{"b":1.0,"a":[null]}}'
    assert sent(fields, {"/meta": [" \n"]}) == "{}"
    wrong = reading(fields, {"/meta": ['{"source": "support",}']}).errors["/meta"]
    assert wrong.startswith("meta is not valid JSON: ")
    assert wrong.endswith("(line 1, column 22).")
    twice = reading(fields, {"/meta": ['{"a": 1, "a": 2}']}).errors
    assert twice == {"/meta": 'meta is not valid JSON: the key "a" stands twice.'}


def test_odd_keys_have_fields_of_their_own() -> None:
    fields = {
        "a/b": {"type": "string"},
        "a": {"type": "object", "properties": {"b": {"type": "string"}}},
        "a|0": {"type": "string"},
    }
    form = form_of(fields, "a")
    assert [part.name for part in form.parts] == ["/a%2Fb", "/a", "/a%7C0"]
    assert sent(fields, {"/a%2Fb": ["1"], "/a/b": ["2"], "/a%7C0": ["3"]}, "a") == '{"a/b":"1","a":{"b":"2"},"a|0":"3"}'


def test_defaults_are_typed_in_exactly() -> None:
    fields = {
        "days": {"type": "integer", "default": 0}, "notify": {"type": "boolean", "default": False},
        "price": {"type": "number", "default": 20.5}, "to": {**ADDRESS, "default": {"city": "Lisboa"}},
        "tags": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
        "at": {"type": "string", "format": "date-time", "default": "2025-06-05T10:30:00+01:00"},
        "where": {"oneOf": [PHONE, VIDEO], "default": {"kind": "video"}}, "bad": {"type": "integer", "default": "x"},
    }  # fmt: skip
    typed = run_form.start(form_of(fields))
    assert "/bad" not in typed
    defaults = {key: said["default"] for key, said in fields.items() if key != "bad"}
    assert sent(fields, typed) == strict_json.dumps(defaults)


def test_between_fields_and_json() -> None:
    form = run_fields.fields_of(schema.compile_schema(worlds.REFUND))
    typed = run_form.fill(form, {"orderNumber": "1042", "reason": "late"})
    assert run_form.peek(form, typed) == {"orderNumber": "1042", "reason": "late"}
    assert run_form.peek(form, run_form.fill(form, {})) == {}
    for value in ({"orderNumber": 5}, {"other": 1}, [], {"reason": "none of them"}, {"orderNumber": ""}):
        with pytest.raises(NoFit):
            run_form.fill(form, value)
    numbers = form_of({"days": {"type": "integer"}})
    assert run_form.peek(numbers, {"/days": ["soon"]}) == {"days": "soon"}
    assert (
        run_form.pretty({"a": [], "b": [1, {"c": None}]})
        == '{\n  "a": [],\n  "b": [\n    1,\n    {\n      "c": null\n    }\n  ]\n}'
    )


def test_a_schema_that_is_more_than_a_form_is_written_as_json() -> None:
    many = made({f"field{number}": {"type": "string"} for number in range(run_fields.FIELD_LIMIT)})
    assert run_fields.fields_of(many) is AS_JSON
    assert run_form.start(AS_JSON) == {"json": ["{}"]}
    assert run_form.read(AS_JSON, {"json": ['{"field7": "x"}']}, compiled=many).input == {"field7": "x"}
    wrong = run_form.read(AS_JSON, {"json": ['{"field7": 7}']}, compiled=many)
    assert wrong.errors == {"json": "field7 must be a string, not the number 7."}
    assert run_form.read(AS_JSON, {"json": [" "]}, compiled=many).errors == {"json": "The input is needed to run this."}


def test_branches_that_only_narrow_leave_the_fields_as_they_are() -> None:
    fields = {"a": {"type": "string"}, "b": {"type": "string"}}
    more: dict[str, Json] = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert [part.name for part in form_of(fields, **more).parts] == ["/a", "/b"]
    assert sent(fields, {"/b": ["1"]}, **more) == '{"b":"1"}'
    assert list(reading(fields, {}, **more).errors) == [""]
