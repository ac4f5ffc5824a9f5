"""OpenAPI documents: what becomes a tool, what does not and why, and documents that mean harm."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from median_site.lib.strict_json import Json
from tools import openapi
from tools.http_definitions import Definition
from tools.openapi import NotOpenApi, Read

TEXT: Json = {"type": "string"}


def document(paths: Json, *, version: str = "3.0.3", **more: Json) -> str:
    return json.dumps(
        {"openapi": version, "servers": [{"url": "https://api.shop.example/v1/"}], "paths": paths, **more}
    )


def read(paths: Json, *, version: str = "3.0.3", **more: Json) -> Read:
    return openapi.read(document(paths, version=version, **more))


def only(paths: Json, **more: Json) -> Definition:
    made = read(paths, **more)
    assert made.unsupported == []
    (operation,) = made.operations
    return operation.definition


def reasons(paths: Json, **more: Json) -> list[str]:
    made = read(paths, **more)
    assert made.operations == []
    return [each.reason for each in made.unsupported]


def body(schema: Json, *, required: bool = True, kind: str = "application/json") -> Json:
    return {"required": required, "content": {kind: {"schema": schema}}}


TAG: Json = {"$ref": "#/components/schemas/Tag"}
ORDERS: Json = {
    "/orders/{orderId}/refunds": {
        "parameters": [
            {"name": "orderId", "in": "path", "required": True, "schema": {"type": "integer"}},
            {"$ref": "#/components/parameters/Trace"},
        ],
        "post": {
            "operationId": "orders.refund/create",
            "summary": "Refund an order",
            "description": "Long words.",
            "parameters": [
                {"name": "notify", "in": "query", "description": "Mail the customer.", "schema": {"type": "boolean"}},
                {"name": "tags", "in": "query", "schema": {"type": "array", "items": TAG}},
                {"name": "Authorization", "in": "header", "required": True, "schema": TEXT},
                {"name": "filter", "in": "query", "style": "deepObject", "schema": {"type": "object"}},
            ],
            "requestBody": {"$ref": "#/components/requestBodies/Refund"},
        },
    }
}  # fmt: skip
COMPONENTS: Json = {
    "parameters": {"Trace": {"name": "X-Trace", "in": "header", "schema": TEXT}},
    "requestBodies": {"Refund": body({"allOf": [{"$ref": "#/components/schemas/Money"}, {
        "type": "object", "required": ["reason"], "properties": {
            "reason": {"type": "string", "enum": ["late"], "nullable": True, "example": "late", "x-order": 1},
            "id": {"type": "string", "readOnly": True},
        },
    }]})},
    "schemas": {
        "Tag": {"type": "string", "maxLength": 9},
        "Money": {"type": "object", "required": ["amount", "id"], "properties": {
            "amount": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        }},
    },
}  # fmt: skip


def test_an_operation_is_a_tool_with_every_parameter_in_its_place() -> None:
    made = read(ORDERS, components=COMPONENTS)
    (operation,) = made.operations
    definition = operation.definition
    assert (definition.name, definition.label, definition.description, definition.risk, definition.method) == (
        "orders_refund_create", "Refund an order", "Refund an order", "high", "POST",
    )  # fmt: skip
    assert definition.url == "https://api.shop.example/v1/orders/{orderId}/refunds"
    assert [(each.name, each.place, each.required, each.schema) for each in definition.parameters] == [
        ("orderId", "path", True, {"type": "integer"}),
        ("notify", "query", False, {"type": "boolean", "description": "Mail the customer."}),
        ("tags", "query", False, {"type": "array", "items": {"type": "string", "maxLength": 9}}),
        ("amount", "body", True, {"type": "number", "exclusiveMinimum": 0}),
        ("reason", "body", True, {"type": ["string", "null"], "enum": ["late", None]}),
    ]
    assert operation.left_out == [
        "X-Trace: A tool sends nothing in a header.", "filter: It is written in a style that tools do not have.",
    ]  # fmt: skip


@pytest.mark.parametrize(("method", "risk"), [("get", "low"), ("put", "high"), ("patch", "high"), ("delete", "high")])
def test_only_a_get_is_of_low_risk(method: str, risk: str) -> None:
    assert only({"/orders": {method: {"operationId": "x"}}}).risk == risk


@pytest.mark.parametrize(
    ("said", "name"),
    [("getOrder", "getOrder"), ("repos/list for-org", "repos_list_for-org"), ("2fa", "op_2fa"), ("été", "t"),
     ("x" * 80, "x" * 64), ("---", "op_"), (None, "get_orders_open")],
)  # fmt: skip
def test_an_operation_id_becomes_a_name(said: str | None, name: str) -> None:
    assert only({"/orders/{open}".replace("{open}", "open"): {"get": {"operationId": said}}}).name == name


def test_names_that_come_out_equal_get_numbers() -> None:
    paths: Json = {f"/{number}": {"get": {"operationId": said}} for number, said in enumerate(["a.b", "a/b", "a_b"])}
    assert [each.definition.name for each in read(paths).operations] == ["a_b", "a_b_2", "a_b_3"]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"requestBody": body(TEXT)}, "Its body is not one JSON object with named fields."),
        ({"requestBody": body({"oneOf": [{"type": "object"}]})}, "Its body is not one JSON object with named fields."),
        ({"requestBody": body({}, kind="application/xml")}, "Its body is application/xml; a tool's is JSON."),
        ({"parameters": [{"name": "X-Shop", "in": "header", "required": True, "schema": TEXT}]},
         "The parameter X-Shop: A tool sends nothing in a header."),
        ({"parameters": [{"name": "a[b]", "in": "query", "required": True, "schema": TEXT}]},
         "The parameter a[b]: A parameter's name has 1 to 64 letters, digits, _, . or -."),
        ({"parameters": [{"name": "q", "in": "query", "required": True, "schema": {"type": "object"}}]},
         "The parameter q: In the query only a text, number, boolean, or an array of them can stand, and the schema"
         " must say which."),
        ({"parameters": [{"name": "q", "in": "query", "required": True, "content": {}}]},
         "The parameter q: It is written as a document of its own."),
        ({"parameters": [{"name": "q", "in": "query", "required": True, "schema": {"$ref": "other.json#/Q"}}]},
         "The parameter q: A reference points out of the document."),
        ({"parameters": [{"$ref": "#/components/parameters/None"}]},
         "#/components/parameters/None is not in the document."),
    ],
)  # fmt: skip
def test_what_is_no_tool_says_why(operation: Json, reason: str) -> None:
    assert reasons({"/orders": {"post": operation}}) == [reason]


def test_other_methods_and_missing_placeholders() -> None:
    paths: Json = {"/a": {"head": {}, "additionalOperations": {"COPY": {}}}, "b": {"get": {}}, "/b/{id}": {"get": {}},
                   "x-c": {"get": {}}, "/c": {"get": {"servers": [{"url": "https://shop.example/?key="}]}}}  # fmt: skip
    assert reasons(paths, version="3.2.0") == [
        "A tool is GET, POST, PUT, PATCH or DELETE.", "A tool is GET, POST, PUT, PATCH or DELETE.",
        "A path begins with /.", "{id} in the URL has no path parameter of that name.",
        "A path cannot be appended to the server's URL.",
    ]  # fmt: skip


def test_a_reference_may_lead_through_lists_and_spell_names_by_their_octets() -> None:
    given: Json = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    at = "#/paths/~1a~1%7Bid%7D/get/parameters/"
    made = read({
        "/a/{id}": {"get": {"parameters": [given]}}, "/b/{id}": {"get": {"parameters": [{"$ref": f"{at}0"}]}},
        "/c/{id}": {"get": {"parameters": [{"$ref": f"{at}1"}]}},
    })  # fmt: skip
    assert [each.definition.parameters[0].schema for each in made.operations] == [{"type": "integer"}] * 2
    assert [each.reason for each in made.unsupported] == [f"{at}1 is not in the document."]


def test_an_optional_field_that_a_tool_cannot_have_is_left_out() -> None:
    paths: Json = {"/a/{id}": {"put": {
        "parameters": [{"name": "id", "in": "path", "required": True, "schema": TEXT}],
        "requestBody": body({"type": "object", "properties": {"id": TEXT, "a b": TEXT, "name": TEXT}}),
    }}}  # fmt: skip
    (operation,) = read(paths).operations
    assert [each.name for each in operation.definition.parameters] == ["id", "name"]
    assert [each.partition(":")[0] for each in operation.left_out] == ["id", "a b"]


@pytest.mark.parametrize(
    ("servers", "server", "url"),
    [
        ([{"url": "https://{region}.shop.example/{v}",
           "variables": {"region": {"default": "eu"}, "v": {"default": "v2"}}}], "", "https://eu.shop.example/v2/a"),
        ([{"url": "/api"}], "https://shop.example", "https://shop.example/api/a"),
        ([], "https://shop.example/base/", "https://shop.example/base/a"),
    ],
)  # fmt: skip
def test_the_servers_url_stands_before_the_path(servers: Json, server: str, url: str) -> None:
    text = document({"/a": {"get": {}}}, servers=servers)
    assert openapi.read(text, server=server).operations[0].definition.url == url


def test_without_a_server_it_says_what_is_missing() -> None:
    assert reasons({"/a": {"get": {}}}, servers=[]) == ["The document names no server. Give its base URL."]


def test_operations_can_be_picked() -> None:
    paths: Json = {"/orders": {"get": {"operationId": "listOrders"}}, "/users": {"get": {"operationId": "listUsers"}}}
    picked = openapi.read(document(paths), only=" ORDER ")
    assert [each.definition.name for each in picked.operations] == ["listOrders"]
    assert picked.unsupported == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("openapi: 3.0.0\npaths: {}", "A YAML document must be turned into JSON first."),
        ("[]", "The document must be a JSON object."),
        (
            '{"swagger": "2.0", "paths": {}}',
            'The document must say "openapi": "3.1" or another 3. Convert older ones first.',
        ),
        ('{"openapi": "3.1.0"}', "The document has no paths."),
        ("[" * 100_000, "The document is not JSON."),
        (" " * 15_000_001, "The document is larger than 15 MB."),
    ],
)
def test_what_is_no_document(text: str, sentence: str) -> None:
    with pytest.raises(NotOpenApi) as refused:
        openapi.read(text)
    assert sentence in refused.value.message


def test_references_without_end_end() -> None:
    loop: Json = {"$ref": "#/components/schemas/Loop"}
    assert reasons({"/": {"post": {"requestBody": body(loop)}}}, components={"schemas": {"Loop": loop}}) == [
        "A reference points from one to the next without end."
    ]


def test_a_field_that_two_parts_of_a_body_describe() -> None:
    parts: list[Json] = [
        {
            "type": "object",
            "properties": {"kind": {"type": "string", "enum": ["any"]}, "to": {"properties": {"a": {}}}},
        },
        {"type": "object", "properties": {"kind": {"enum": ["mail"]}, "to": {"properties": {"b": {}}}}},
    ]
    made = only({"/a": {"post": {"requestBody": body({"allOf": parts})}}})
    assert {each.name: each.schema for each in made.parameters} == {
        "kind": {"type": "string", "enum": ["mail"]},
        "to": {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
    }


def test_a_schema_that_refers_to_itself_is_open_where_it_does() -> None:
    tree: Json = {"type": "object", "properties": {
        "name": TEXT,
        "child": {"$ref": "#/components/schemas/Tree"},
        "others": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
        "twin": {"$ref": "#/components/schemas/Twin", "description": "Beside it."},
    }}  # fmt: skip
    twin: Json = {"type": "object", "properties": {"of": {"$ref": "#/components/schemas/Tree"}, "at": TEXT}}
    paths: Json = {
        f"/{name}": {"post": {"requestBody": body({"$ref": f"#/components/schemas/{name}"})}}
        for name in ("Tree", "Twin")
    }
    made = read(paths, components={"schemas": {"Tree": tree, "Twin": twin}})
    assert made.unsupported == []
    of_tree, of_twin = (
        {each.name: each.schema for each in operation.definition.parameters} for operation in made.operations
    )
    open_tree: Json = {"type": "object"}
    twins: Json = {"type": "object", "properties": {"of": open_tree, "at": TEXT}}
    assert of_tree == {
        "name": TEXT, "child": open_tree, "others": {"type": "array", "items": open_tree},
        "twin": {**twins, "description": "Beside it."},
    }  # fmt: skip
    assert of_twin["of"]["properties"]["child"] == open_tree


def test_a_schema_that_is_too_deep_or_too_large_is_open_far_inside() -> None:
    of: dict[str, Json] = {"Deep9": TEXT, "Wide6": TEXT}
    for n in range(9):
        of[f"Deep{n}"] = {"type": "object", "properties": {"in": {"$ref": f"#/components/schemas/Deep{n + 1}"}}}
    for n in range(6):
        inside: Json = {"$ref": f"#/components/schemas/Wide{n + 1}"}
        of[f"Wide{n}"] = {"type": "object", "properties": dict.fromkeys("abcdef", inside)}
    paths: Json = {
        f"/{name}": {"post": {"requestBody": body({"$ref": f"#/components/schemas/{name}0"})}}
        for name in ("Deep", "Wide")
    }
    made = read(paths, components={"schemas": of})
    assert made.unsupported == []
    (deep,), (wide, *_) = (each.definition.parameters for each in made.operations)
    assert deep.schema == {"type": "object", "properties": {
        "in": {"type": "object", "properties": {"in": {"type": "object"}}}
    }}  # fmt: skip
    opened: Json = {"type": "object"}
    assert wide.schema["properties"]["a"] == {"type": "object", "properties": dict.fromkeys("abcdef", opened)}


def test_what_is_open_is_no_reason_to_refuse() -> None:
    tree: Json = {"type": "object", "properties": {
        "in": {"oneOf": [{"$ref": "#/components/schemas/Tree"}, {"type": "object", "required": ["leaf"]}]},
        "out": {"not": {"$ref": "#/components/schemas/Tree"}},
    }}  # fmt: skip
    within: Json = {"type": "object", "properties": {"one": {"oneOf": [{"$ref": "#/components/schemas/Tree"}, TEXT]}}}
    for schema, name in (({"$ref": "#/components/schemas/Tree"}, "in"), (within, "one")):
        made = only({"/a": {"post": {"requestBody": body(schema)}}}, components={"schemas": {"Tree": tree}})
        assert [list(each.schema) for each in made.parameters if each.name == name] == [["anyOf"]]
        assert [each.schema for each in made.parameters if each.name == "out"] in ([], [{}])


def test_an_object_of_which_all_is_only_read_may_hold_anything() -> None:
    seen: Json = {"type": "object", "properties": {"id": {"type": "string", "readOnly": True}}}
    made = only({"/a": {"post": {"requestBody": body({"type": "object", "properties": {"copyOf": seen}})}}})
    assert made.parameters[0].schema == {"type": "object"}


def test_a_document_of_many_bombs_is_read_in_bounded_work() -> None:
    bombs: dict[str, Json] = {
        f"B{n}": {
            "type": "object",
            "properties": {key: {"$ref": f"#/components/schemas/B{n + 1}"} for key in "abcdefgh"},
        }
        for n in range(5)
    }
    bombs["B5"] = TEXT
    paths: Json = {f"/{n}": {"post": {"requestBody": body({"$ref": "#/components/schemas/B0"})}} for n in range(2_000)}
    made = read(paths, components={"schemas": bombs})
    assert len(made.operations) + len(made.unsupported) == 2_000
    assert len(made.operations) < 100
    assert made.unsupported[-1].reason.startswith("The document is too large to be read in one go.")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["get", "post", "parameters", "schema", "name", "in", "requestBody", "content", "$ref", "type",
                         "application/json", "properties", "items", "required", "servers", "url", "allOf", "enum"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["/a", "/{b}", "x"]), _JSON, max_size=3), _JSON, _JSON)
def test_no_document_breaks_the_reader(paths: dict[str, Json], components: Json, servers: Json) -> None:
    made = openapi.read(json.dumps({"openapi": "3.1.0", "paths": paths, "components": components, "servers": servers}))
    assert all(each.definition.url.startswith("http") for each in made.operations)
