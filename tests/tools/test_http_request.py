"""The request of an HTTP tool, byte for byte, and that no value leaves the place that its definition gives it."""

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tools import http_checks, http_request
from tools.http_definitions import Definition
from tools.http_request import BadValue

TEXT = {"type": "string"}


def definition(url: str = "https://api.shop.example/orders/{id}", method: str = "GET", **fields: Json) -> Definition:
    raw: dict[str, Json] = {
        "name": "orderStatus", "description": "Look up an order.", "risk": "low", "method": method, "url": url,
        "parameters": [{"name": "id", "place": "path", "required": True, "schema": TEXT}], **fields,
    }  # fmt: skip
    made, faults = http_checks.read(raw)
    assert made, faults
    return made


def built(values: dict[str, Json], made: Definition, *, subject: str = "user_123") -> tuple[str, str, bytes | None]:
    return tuple(http_request.build(made, values, subject=subject))


def parameter(name: str, place: str, schema: Json, *, required: bool = False) -> Json:
    return {"name": name, "place": place, "required": required, "schema": schema}


EVERYWHERE = definition(
    "https://api.shop.example/v1/orders/{id}/items/{item}.json?api=2",
    "PATCH",
    parameters=[
        parameter("id", "path", TEXT, required=True),
        parameter("item", "path", {"type": "integer"}, required=True),
        parameter("tag", "query", {"type": "array", "items": TEXT}),
        parameter("open", "query", {"type": ["boolean", "null"]}),
        parameter("rate", "query", {"type": "number"}),
        parameter("note", "body", TEXT),
        parameter("lines", "body", {"type": "array", "items": {"type": "object", "properties": {"sku": TEXT}}}),
    ],
)


def test_every_parameter_goes_where_it_is_placed() -> None:
    values = strict_json.loads(
        '{"id": "ORD 1ü", "item": 7, "tag": ["a b", "c&d=e"], "open": false, "rate": 20.00,'
        ' "note": "été \\"x\\"", "lines": [{"sku": "A"}]}'
    )
    assert isinstance(values, dict)
    assert built(values, EVERYWHERE) == (
        "PATCH",
        "https://api.shop.example/v1/orders/ORD%201%C3%BC/items/7.json?api=2"
        "&tag=a%20b&tag=c%26d%3De&open=false&rate=20.00",
        '{"note":"été \\"x\\"","lines":[{"sku":"A"}]}'.encode(),
    )


def test_what_is_not_given_is_not_sent() -> None:
    assert built({"id": "1", "item": 2, "open": None, "tag": []}, EVERYWHERE) == (
        "PATCH", "https://api.shop.example/v1/orders/1/items/2.json?api=2", b"{}",
    )  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PUT", "PATCH"])
def test_without_body_parameters_there_is_no_body(method: str) -> None:
    assert built({"id": "7"}, definition(method=method)) == (method, "https://api.shop.example/orders/7", None)


def test_a_delete_with_body_parameters_has_one() -> None:
    made = definition(
        method="DELETE",
        parameters=[parameter("id", "path", TEXT, required=True), parameter("why", "body", TEXT)],
    )
    assert built({"id": "7", "why": "late"}, made)[2] == b'{"why":"late"}'


@pytest.mark.parametrize(
    ("url", "place", "wanted"),
    [
        ("https://h.example/c/{user}/orders", "path", ("https://h.example/c/user%7C9/orders", None)),
        ("https://h.example/orders", "query", ("https://h.example/orders?user=user%7C9", None)),
        ("https://h.example/orders", "body", ("https://h.example/orders", b'{"user":"user|9"}')),
    ],
)
def test_the_subject_stands_where_it_is_placed_and_no_value_replaces_it(
    url: str, place: str, wanted: tuple[str, bytes | None]
) -> None:
    made = definition(url, "POST", parameters=[], subject={"name": "user", "place": place})
    assert built({"user": "somebody_else"}, made, subject="user|9")[1:] == wanted
    assert made.input_schema["properties"] == {}


@pytest.mark.parametrize(
    "value",
    ["", ".", "..", "../admin", "a/b", "%2e%2e", "%2E.", "%252e%252e", "..%2f", "a%2Fb", "a\\b", "%5c", "%255C", "..;x",
     "%2e%3b"],
)  # fmt: skip
def test_a_path_value_that_could_leave_its_segment_is_refused(value: str) -> None:
    with pytest.raises(BadValue) as refused:
        built({"id": value}, definition())
    assert refused.value.field == "id"
    assert [fault.field for fault in http_request.check(definition(), {"id": value})] == ["id"]


@pytest.mark.parametrize(
    ("value", "sent"),
    [("?x=1", "%3Fx%3D1"), ("#top", "%23top"), ("me@evil.example", "me%40evil.example"), (":80", "%3A80"),
     ("a;b", "a%3Bb"), ("\r\nHost: x", "%0D%0AHost%3A%20x"), ("100%", "100%25"), ("...", "..."), ("{id}", "%7Bid%7D")],
)  # fmt: skip
def test_anything_else_is_encoded_and_stays(value: str, sent: str) -> None:
    assert built({"id": value}, definition())[1] == f"https://api.shop.example/orders/{sent}"


def test_two_values_of_one_segment_make_no_dots_together() -> None:
    made = definition(
        "https://h.example/{a}{b}/x",
        parameters=[parameter("a", "path", TEXT, required=True), parameter("b", "path", TEXT, required=True)],
    )
    with pytest.raises(BadValue):
        built({"a": "%2e", "b": "%2e"}, made)
    assert built({"a": "a.", "b": ".b"}, made)[1] == "https://h.example/a..b/x"


@given(st.text(max_size=40), st.sampled_from(["", "%", "%25", "..", "/", "\\", "%2f", "."]), st.text(max_size=10))
def test_no_value_climbs_out_of_its_segment(before: str, inside: str, after: str) -> None:
    value = before + inside + after
    made = definition("https://api.shop.example:8443/a/{id}/refund?x=1")
    try:
        url = built({"id": value}, made)[1]
    except (BadValue, UnicodeEncodeError):
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "api.shop.example:8443", "x=1", "")
    assert unquote(parts.path.split("/")[2]) == value
    assert url.isascii()
    seen = parts.path
    for _ in range(8):
        segments = seen.split("/")
        assert (len(segments), segments[1], segments[3]) == (4, "a", "refund")
        assert segments[2] not in {"", ".", ".."}
        assert "\\" not in seen
        seen = unquote(seen)


@given(st.dictionaries(st.sampled_from(["q", "list"]), st.text(max_size=30)))
def test_a_query_value_stays_in_its_pair(values: dict[str, str]) -> None:
    made = definition(
        "https://h.example/find",
        parameters=[parameter("q", "query", TEXT), parameter("list", "query", {"type": "array", "items": TEXT})],
    )
    try:
        url = built({key: [value, value] if key == "list" else value for key, value in values.items()}, made)[1]
    except UnicodeEncodeError:
        return
    pairs = [pair.split("=") for pair in urlsplit(url).query.split("&") if pair]
    wanted = [(key, values[key]) for key in ("q", "list", "list") if key in values]
    assert [(key, unquote(value)) for key, value in pairs] == wanted
