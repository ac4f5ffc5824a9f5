"""Canonical JSON (RFC 8785): one value, one sequence of bytes, so its hash stands for the value. No parsing here."""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal


class CanonicalJsonError(ValueError):
    """The value has no canonical form: not JSON, not finite, not Unicode text, or nested too deep to walk."""


def dumps(value: object) -> bytes:
    """The canonical UTF-8 bytes of a JSON value: None, bool, int, float, Decimal, str, list, tuple or a mapping by str.

    Numbers are written from their own decimal digits, a float's being the shortest that name it. So what a double holds
    comes out as RFC 8785 says, and 7, 7.0 and Decimal("7.00") are one value. One deviation: the RFC first rounds
    integers beyond 2**53 and long decimals to a double; here they keep every digit, since another order number is
    another input. Raises CanonicalJsonError for NaN, infinities, lone surrogates and whatever is not JSON.
    """
    try:
        return _text(value).encode()
    except UnicodeEncodeError as error:
        raise CanonicalJsonError("A lone surrogate is not text.") from error
    except RecursionError as error:
        raise CanonicalJsonError("The value is nested too deep.") from error


def sha256_hex(value: object) -> str:
    """The SHA-256 of the canonical bytes, as 64 lower-case hex digits. Raises what `dumps` raises."""
    return hashlib.sha256(dumps(value)).hexdigest()


def _text(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # escapes exactly the characters that the RFC escapes
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, Mapping):
        names = sorted(map(_name, value), key=lambda name: name.encode("utf-16-be"))
        return f"{{{','.join(f'{_text(name)}:{_text(value[name])}' for name in names)}}}"
    raise CanonicalJsonError(f"{type(value).__name__} is not JSON.")


def _name(name: object) -> str:
    if isinstance(name, str):
        return name
    raise CanonicalJsonError("Names in an object are text.")


def _number(value: float | Decimal) -> str:
    """ECMAScript's Number::toString, on any number of digits."""
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    sign, digits, exponent = number.as_tuple()
    if isinstance(exponent, str):
        raise CanonicalJsonError(f"{number} is not a JSON number.")
    written = "".join(map(str, digits))
    significant = written.rstrip("0")
    if not significant:
        return "0"  # also for a negative zero
    return "-" * sign + _placed(significant, len(written) + exponent)


def _placed(digits: str, point: int) -> str:
    """The digits with the decimal point after the first `point` of them, in ECMAScript's four layouts."""
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"
