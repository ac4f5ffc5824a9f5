"""What the endpoint answers: JSON in and out, and the one shape of an error. No HTTP server is known here."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from http import HTTPStatus
from typing import NoReturn, TypeAlias, cast

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


@dataclass(frozen=True)
class Answer:
    """One HTTP answer: a status, the exact bytes of the body, and headers beyond the content type."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def wire_headers(self) -> tuple[tuple[str, str], ...]:
        """All headers to send. A 304 has no body to describe."""
        if self.status == HTTPStatus.NOT_MODIFIED:
            return self.headers
        return (*self.headers, ("content-type", "application/json"), ("content-length", str(len(self.body))))


class ToolError(Exception):
    """An answer other than a result. A tool may raise it; Median shows the code and the message on the card.

    `status` is the HTTP status, 400 to 599; `field` names the input at fault, when one is.
    """

    def __init__(self, code: str, message: str, *, status: int = 500, field: str | None = None) -> None:
        super().__init__(message)
        if not 400 <= status <= 599:
            raise ValueError(f"{status} is not the HTTP status of an error")
        self.code = code
        self.message = message
        self.status = status
        self.field = field

    def answer(self, *headers: tuple[str, str]) -> Answer:
        error: dict[str, Json] = {"code": self.code, "message": self.message}
        if self.field is not None:
            error["field"] = self.field
        return Answer(self.status, encode({"error": error}), headers)


def encode(value: object) -> bytes:
    """Compact JSON in UTF-8. Raises TypeError, ValueError or RecursionError for what JSON cannot say, NaN included."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Only a lone surrogate fails to encode, and its backslash form is its JSON escape.
    return text.encode("utf-8", "backslashreplace")


def decode(body: bytes, *, number: Callable[[str], float | Decimal] | None = None) -> Json:
    """The JSON value of a body, its decimals read by `number` (floats by default).

    Raises ValueError or RecursionError: not UTF-8, not JSON, NaN, a key given twice.
    """
    value = json.loads(
        body.decode("utf-8"),
        parse_constant=_not_a_number,
        parse_float=number or _finite,
        object_pairs_hook=_each_key_once,
    )
    return cast(Json, value)


def _not_a_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is out of range")
    return number


def _each_key_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found
