"""JSON read and written strictly: what is refused and where, and that numbers leave as they came."""

import copy
import json
import pickle

import pytest

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError, dumps, loads, loads_unique


@pytest.mark.parametrize(
    "text",
    ["null", "true", "0", "-7", "12345678901234567890123", "19.99", "20.00", "7.0", "7e0", "1E+2", "0.10",
     "1.23456789012345678901234567890", '"José 😀"', '"\\u0000"', "[]", "{}", '{"b":1,"a":[{"c":null}]}',
     "[" * 64 + "]" * 64, "1" * 4_300],
)  # fmt: skip
def test_what_is_read_is_written_as_it_came(text: str) -> None:
    assert dumps(loads(text)) == text


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ""),
        ("{", ""),
        ('{"a":1,}', ""),
        ("{a:1}", ""),
        ("00042", ""),
        ("[1]x", ""),
        ('["\n"]', ""),
        ("NaN", ""),
        ('{"amount":NaN}', "/amount"),
        ('{"a":[1,{"b/c":-Infinity}]}', "/a/1/b~1c"),
        ('{"t":1e999}', "/t"),
        ("[1e-999]", "/0"),
        ("1" * 4_301, ""),
        ("[1." + "0" * 4_300 + "]", "/0"),
        ("[" * 65 + "]" * 65, "/0/0/0/0"),
        ("[" * 100_000, ""),
        ('{"a":' * 100_000, ""),
    ],
)
def test_what_is_refused_and_where(text: str, path: str) -> None:
    with pytest.raises(JsonError) as refused:
        loads(text)
    assert refused.value.path == path
    assert len(refused.value.message) < 200


def test_the_place_is_part_of_what_is_said() -> None:
    with pytest.raises(JsonError) as refused:
        loads('{"amount":NaN}')
    assert str(refused.value) == "Numbers beyond a double, NaN and Infinity are not JSON. (at /amount)"


def test_an_exponent_costs_nothing() -> None:
    assert dumps(loads("[0e-99999999, -0.0e9999999]")) == "[0.0,0.0]"


def test_bytes_are_utf_8_and_a_byte_order_mark_is_skipped() -> None:
    assert loads(b'\xef\xbb\xbf{"n":"Jos\xc3\xa9"}') == loads('\ufeff{"n":"José"}') == {"n": "José"}
    for body in (b'{"n":"Jos\xe9"}', "{}".encode("utf-16")):
        with pytest.raises(JsonError, match="not UTF-8"):
            loads(body)


def test_of_keys_that_stand_twice_the_last_wins_unless_none_may() -> None:
    text = '{"x":[{"a":1,"b":2,"a":3}]}'
    assert loads(text) == {"x": [{"a": 3, "b": 2}]}
    assert strict_json.loads_noting_repeats(text)[1] == ["/x/0/a"]
    with pytest.raises(JsonError, match='The key "a" stands twice.') as refused:
        loads_unique(text)
    assert refused.value.path == "/x/0/a"
    assert loads_unique('{"x":{"a":1},"y":{"a":1}}') == {"x": {"a": 1}, "y": {"a": 1}}


@pytest.mark.parametrize("value", [float("nan"), {"a": float("inf")}, ["\ud800"], {"\udfff": 1}])
def test_what_is_never_written(value: Json) -> None:
    with pytest.raises(JsonError):
        dumps(value)


def test_a_circle_is_never_written() -> None:
    circle: list[Json] = []
    circle.append(circle)
    with pytest.raises(JsonError):
        dumps(circle)


def test_sorted_keys() -> None:
    assert dumps({"b": {"d": 1, "c": 2}, "a": 3}, sort_keys=True) == '{"a":3,"b":{"c":2,"d":1}}'


def test_a_fraction_is_a_float_to_everyone_else() -> None:
    value = loads('{"amount":19.990}')
    assert value == {"amount": 19.99}
    assert json.dumps(value) == '{"amount": 19.99}'
    for copied in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):  # noqa: S301  # our own bytes
        assert dumps(copied) == '{"amount":19.990}'


@pytest.mark.parametrize("value", ["a\0", "\ud800", {"\0": 1}, [[{"a": "\udc00"}]]])
def test_what_postgresql_cannot_store_is_found_and_made_visible(value: Json) -> None:
    assert strict_json.has_nul_or_surrogate(value)
    assert not strict_json.has_nul_or_surrogate(strict_json.visible_json(value))


def test_visible_text() -> None:
    assert strict_json.visible("a\0b\ud800") == ("a\u2400b\ufffd", True)
    assert strict_json.visible("José 😀") == ("José 😀", False)
    assert not strict_json.has_nul_or_surrogate({"José": ["😀", 1, None]})
