"""SHA-256 of canonical JSON (RFC 8785): of a call's input, which is what was approved, and of an event of the log."""

import hashlib
import json
from decimal import Decimal

from median_tools.answers import decode


def input_sha256(body: bytes) -> str:
    """64 hex digits, for the `input` of a call's body. Raises ValueError or RecursionError for what is not JSON.

    Numbers keep every digit they came with, as they do where the approval is made.
    """
    sent = decode(body, number=Decimal)
    given = sent.get("input") or {} if isinstance(sent, dict) else {}
    return sha256_hex(given)


def sha256_hex(value: object) -> str:
    """64 hex digits, for a JSON value. Raises ValueError for NaN and for half characters."""
    return hashlib.sha256(_text(value).encode()).hexdigest()


def _text(value: object) -> str:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_text(name)}:{_text(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return _number(Decimal(repr(value)) if isinstance(value, float) else Decimal(value))
    return json.dumps(value, ensure_ascii=False)


def _number(number: Decimal) -> str:
    """As ECMAScript writes numbers: plain up to 21 digits before the point and 6 zeros behind it, else with an e."""
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{number} is not a JSON number.")
    written = "".join(map(str, digits)).lstrip("0")
    significant = written.rstrip("0")
    if not significant:
        return "0"
    point = len(written) + exponent
    if -6 < point <= 21:
        padded = "0" * max(0, 1 - point) + significant.ljust(point, "0")
        whole = max(point, 1)
        text = padded[:whole] + ("." + padded[whole:] if padded[whole:] else "")
    else:
        fraction = "." + significant[1:] if significant[1:] else ""
        text = f"{significant[0]}{fraction}e{point - 1:+d}"
    return "-" * sign + text
