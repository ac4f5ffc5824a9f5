"""Definitions: what is refused and which field is named, the schema that the model sees, and how two lists differ."""

import pytest

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tools import http_checks, http_definitions
from tools.http_definitions import Change, Definition, from_json

TEXT: dict[str, Json] = {"type": "string"}
RAW: dict[str, Json] = {
    "name": "orderStatus",
    "label": "Order status",
    "description": "Look up an order.",
    "risk": "low",
    "method": "GET",
    "url": "https://api.shop.example/orders/{id}",
    "parameters": [{"name": "id", "place": "path", "required": True, "schema": TEXT}],
}


def parameter(name: str = "id", place: str = "path", schema: Json = None, *, required: bool = True) -> Json:
    return {"name": name, "place": place, "required": required, "schema": schema or TEXT}


def read(**fields: Json) -> Definition:
    made, faults = http_checks.read({**RAW, **fields})
    assert made, faults
    return made


def fields_at_fault(**fields: Json) -> list[str]:
    made, faults = http_checks.read({**RAW, **fields})
    assert made is None
    assert all(fault.message.endswith(".") or "(at /" in fault.message for fault in faults)
    return [fault.field for fault in faults]


def test_what_is_stored_is_what_was_read() -> None:
    made = read(
        subject={"name": "user", "place": "query"}, requires="plus", sessionStart=False,
        parameters=[parameter(), parameter("since", "query", '{"type": "string", "format": "date"}', required=False)],
    )  # fmt: skip
    assert from_json(strict_json.loads(strict_json.dumps(made.as_json()))) == made
    assert made.input_schema == {
        "type": "object",
        "properties": {"id": TEXT, "since": {"type": "string", "format": "date"}},
        "required": ["id"],
        "additionalProperties": False,
    }


def test_left_out_fields_have_their_defaults() -> None:
    made, faults = http_checks.read({"name": "ping_all", "description": "Ping.", "url": "https://h.example/ping"})
    assert faults == []
    assert made == Definition(
        name="ping_all", label="Ping all", description="Ping.", risk="high", method="GET", url="https://h.example/ping"
    )


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"name": "order status"}, "name"),
        ({"name": "9lives"}, "name"),
        ({"label": "x" * 81}, "label"),
        ({"description": " "}, "description"),
        ({"description": "x" * 2_001}, "description"),
        ({"risk": "harmless"}, "risk"),
        ({"method": "TRACE"}, "method"),
        ({"requires": "x" * 101}, "requires"),
        ({"parameters": "id", "url": "https://h.example/"}, "parameters"),
        ({"parameters": [parameter(), "x"]}, "parameters[1]"),
        ({"parameters": [parameter(), parameter("two words", "query")]}, "parameters[1].name"),
        ({"parameters": [parameter(), parameter("q", "header")]}, "parameters[1].place"),
        ({"parameters": [parameter(), parameter("q", "query"), parameter("q", "body")]}, "parameters[2].name"),
        ({"parameters": [parameter(required=False)]}, "parameters[0].required"),
        ({"parameters": [parameter(schema="{not json")]}, "parameters[0].schema"),
        ({"parameters": [parameter(schema={"type": "text"})]}, "parameters[0].schema"),
        ({"parameters": [parameter(schema={"type": "array", "items": TEXT})]}, "parameters[0].schema"),
        ({"parameters": [parameter(), parameter("q", "query", {"type": "object"})]}, "parameters[1].schema"),
        ({"parameters": [parameter(), parameter("q", "query", {"description": "any"})]}, "parameters[1].schema"),
        ({"parameters": [parameter(), parameter("q", "query", {"type": "array"})]}, "parameters[1].schema"),
        ({"parameters": [parameter(), parameter("q", "query", {"type": "array", "items": {"type": "object"}})]},
         "parameters[1].schema"),
        ({"parameters": [parameter(), parameter("q", "query", {"anyOf": [TEXT, {"type": "object"}]})]},
         "parameters[1].schema"),
        ({"parameters": [parameter(), parameter("q", "body", {"$ref": "#/$defs/x"})]}, "parameters[1].schema"),
        ({"subject": {"name": "", "place": "query"}}, "subject.name"),
        ({"subject": {"name": "user", "place": "header"}}, "subject.place"),
        ({"subject": {"name": "id", "place": "query"}}, "subject.name"),
        ({"sessionStart": True}, "sessionStart"),
        ({"sessionStart": True, "risk": "medium", "parameters": [], "url": "https://h.example/"}, "sessionStart"),
    ],
)  # fmt: skip
def test_the_field_at_fault_is_named(fields: dict[str, Json], at: str) -> None:
    assert fields_at_fault(**fields) == [at]


@pytest.mark.parametrize(
    "url",
    [
        "orders/{id}",
        "ftp://h.example/{id}",
        "https://h.example/{id} ",
        "https://h.example/a b/{id}",
        "https://h.example\\{id}",
        "https://{id}/orders",
        "https://h.example:{id}/orders",
        "https://h.example/orders?id={id}",
        "https://h.example/orders#{id}",
        "https://h.example/{id}/{id}",
        "https://h.example/{id}/{other}",
        "https://h.example/{id",
        "https://h.example/{{id}}",
        "https://h.example/orders",
        "https://h.example/../{id}",
        "https://h.example/%2e%2e/{id}",
        "https://h.example/{id}#x",
    ],
)
def test_a_url_and_its_placeholders_must_fit(url: str) -> None:
    faults = http_checks.read({**RAW, "url": url})[1]
    if url.endswith(" "):
        assert faults == []  # what is around it does not count
    else:
        assert {fault.field for fault in faults} == {"url"}


def test_a_path_subject_has_its_placeholder() -> None:
    made = read(url="https://h.example/u/{user}", parameters=[], subject={"name": "user", "place": "path"})
    assert made.subject == http_definitions.Subject("user", "path")
    assert fields_at_fault(parameters=[], url="https://h.example/", subject={"name": "user", "place": "path"}) == [
        "url"
    ]


@pytest.mark.parametrize(
    ("place", "schema"),
    [
        ("path", {"type": "integer"}),
        ("path", {"enum": ["a", 7, True]}),
        ("query", {"anyOf": [TEXT, {"type": "null"}]}),
        ("query", {"type": ["array", "null"], "items": {"enum": ["a", "b"]}}),
        ("query", {"const": 1.5}),
        ("body", {"type": "object", "properties": {"a": {"type": "array"}}}),
        ("body", {"description": "anything"}),
    ],
)
def test_schemas_that_can_stand_there(place: str, schema: dict[str, Json]) -> None:
    assert http_checks.parameter_schema(schema, place=place) == schema


def test_what_publishing_would_change() -> None:
    old = [read(), read(name="gone"), read(name="same")]
    new = [
        read(description="Find an order.", parameters=[parameter(schema={"type": "integer"})], requires="plus"),
        read(name="same"),
        read(name="added", url="https://h.example/new", parameters=[]),
    ]
    added, gone, changed = http_definitions.diff(old, new)
    assert added == Change("added", "Order status", "added", [
        ("label", "", "Order status"), ("description", "", "Look up an order."), ("risk", "", "low"),
        ("method", "", "GET"), ("url", "", "https://h.example/new"),
    ])  # fmt: skip
    assert (gone.name, gone.what, len(gone.fields)) == ("gone", "gone", 6)
    assert changed == Change("orderStatus", "Order status", "changed", [
        ("description", "Look up an order.", "Find an order."), ("requires", "", "plus"),
        ("parameter id", 'in path, required yes, {"type":"string"}',
         'in path, required yes, {"type":"integer"}'),
    ])  # fmt: skip
    assert http_definitions.diff(new, new) == []
