"""Both ends of an approval's hash agree, though neither shares code with the other."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from median_tools.canonical import input_sha256

from median_site.lib import canonical_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=4))
def test_any_input_hashes_as_it_does_where_it_was_approved(given_input: dict[str, object]) -> None:
    body = json.dumps({"input": given_input}).encode()
    assert input_sha256(body) == canonical_json.sha256_hex(given_input)


@pytest.mark.parametrize(
    "number", ["1e21", "1e20", "123e-9", "1e-6", "-0.0", "0.10", "1234567890.12345678901234567890"]
)
def test_numbers_keep_every_digit(number: str) -> None:
    body = f'{{"input": {{"n": {number}}}}}'.encode()
    assert input_sha256(body) == canonical_json.sha256_hex({"n": Decimal(number)})
