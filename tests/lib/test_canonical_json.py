"""Canonical JSON against the examples of RFC 8785 and its own deviation."""

import hashlib
import json
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from median_site.lib import canonical_json
from median_site.lib.canonical_json import CanonicalJsonError, dumps

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


def test_sample_of_the_rfc() -> None:
    """Section 3.2.2 in, section 3.2.4 out, byte for byte."""
    sample = r"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    assert dumps(json.loads(sample)) == bytes.fromhex(
        "7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a"
        "5b3333333333333333332e333333333333332c31652b33302c342e352c302e3030322c31652d3237"
        "5d2c22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d"
    )


def test_names_are_ordered_by_utf_16_code_units() -> None:
    """Section 3.2.3: an emoji, whose surrogates are D83D DE00, comes before U+FB33."""
    sample = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(dumps(sample)).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


@pytest.mark.parametrize(
    ("double", "written"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_of_the_rfc(double: str, written: str) -> None:
    """Appendix B: the bits of a double and how it is written."""
    (number,) = struct.unpack(">d", bytes.fromhex(double))
    assert dumps(number) == written.encode()


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (2**53 + 1, "9007199254740993"),
        (-(10**20), "-100000000000000000000"),
        (10**21, "1e+21"),
        (1234567890123456789012345, "1.234567890123456789012345e+24"),
        (Decimal("19.90"), "19.9"),
        (Decimal("-0.00"), "0"),
        (Decimal("1E+2"), "100"),
        (Decimal("0.12345678901234567890123"), "0.12345678901234567890123"),
        (7, "7"),
        (7.0, "7"),
        (Decimal("7.00"), "7"),
        (True, "true"),
    ],
)
def test_long_numbers_keep_every_digit_and_equal_numbers_are_equal(number: object, written: str) -> None:
    assert dumps(number) == written.encode()


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        float("-inf"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        "\ud800",
        {"\udfff": 1},
        {1: "a"},
        {None: "a"},
        {"a", "b"},
        b"bytes",
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_canonical_form_is_refused_wherever_it_stands(value: object) -> None:
    for place in (value, [value], {"a": {"b": [value]}}):
        with pytest.raises(CanonicalJsonError):
            dumps(place)


def test_too_deep_is_refused() -> None:
    value: object = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(CanonicalJsonError, match="too deep"):
        dumps(value)


@given(json_values)
def test_canonical_json_is_json_and_stays_as_it_is(value: object) -> None:
    written = dumps(value)
    assert dumps(json.loads(written, parse_float=Decimal)) == written


@given(st.dictionaries(st.text(), st.integers()))
def test_order_of_names_does_not_matter(value: dict[str, int]) -> None:
    assert dumps(dict(reversed(value.items()))) == dumps(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_itself(number: float) -> None:
    assert float(dumps(number)) == number


def test_hash_is_of_the_canonical_bytes() -> None:
    assert canonical_json.sha256_hex({"b": 1.0, "a": "€"}) == hashlib.sha256('{"a":"€","b":1}'.encode()).hexdigest()
