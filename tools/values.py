"""The input of a call as rows that hide nothing: types told apart, empty told from missing, odd characters written out.

Pure: JSON text in, rows out. The rows are for reading; what leaves is the text itself.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tools import characters
from tools.characters import Mixture, Piece

LINE_LIMIT: Final = 80
FOLD_LENGTH: Final = 240
FOLD_LINES: Final = 4

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NUMERIC: Final = frozenset("0123456789+-.,:/ eE")
_CONSTANTS: Final = frozenset({"true", "false", "null", "none"})


class Literal(str):
    """A number exactly as its JSON wrote it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One field. `none` says what stands there instead of a value; `rows` holds what is nested in it."""

    label: str
    # The exact key, in pieces, when the label cannot stand for it.
    key: tuple[Piece, ...] = ()
    pieces: tuple[Piece, ...] = ()
    length: int = 0
    folds: bool = False
    is_text: bool = False
    mixture: Mixture | None = None
    none: str = ""
    count: str = ""
    rows: tuple["Row", ...] = ()

    @property
    def is_plain(self) -> bool:
        """Nothing about it needs more room than its own characters on one line."""
        flat = not (self.rows or self.count or self.none or self.key or self.mixture or self.is_text)
        return flat and all(piece.kind == "text" for piece in self.pieces)

    @property
    def has_hidden(self) -> bool:
        return any(piece.kind == "code" for piece in (*self.key, *self.pieces))


@dataclass(frozen=True, slots=True)
class Values:
    """An input: its rows in the order in which its keys are sent, and its exact JSON with hidden characters escaped."""

    rows: tuple[Row, ...]
    exact: str

    @property
    def hidden(self) -> int:
        """How many values hold characters that do not show."""
        return sum(row.has_hidden for row in _all(self.rows))

    @property
    def one_line(self) -> str | None:
        """All values on one line, or None where that could mislead: too long, nested, not plain characters only."""
        if not all(row.is_plain for row in self.rows):
            return None
        texts = ["".join(piece.text for piece in row.pieces) for row in self.rows]
        line = ", ".join(texts)
        return line if len(line) <= LINE_LIMIT and line.count(",") == max(len(texts) - 1, 0) else None


def rows_of(text: str, *, optional: Iterable[str] = ()) -> Values:
    """The rows of an input, the JSON text of an object. Each name in `optional` that it lacks gets a row "not sent"."""
    value = json.loads(text, parse_int=Literal, parse_float=Literal, parse_constant=Literal)
    missing = [name for name in optional if name not in value]
    labels = _labels([*value, *missing])
    rows = [_row(labels[key], key, each) for key, each in value.items()]
    rows += [Row(label=labels[name], key=_exact(name, labels[name]), none="not sent") for name in missing]
    odd = "".join(row.mixture.letters for row in _all(rows) if row.mixture)
    return Values(tuple(rows), characters.escaped(text, also=odd))


def label_of(key: str) -> str:
    """A key in words: orderNumber and order_number are "Order number", orderID is "Order ID"."""
    words = [word if word.isupper() and len(word) > 1 else word.lower() for word in _WORD.findall(key)]
    line = " ".join(words)
    return line[:1].upper() + line[1:]


def _labels(keys: list[str]) -> dict[str, str]:
    """Words for each key, except where it is not a plain name or two keys read the same: there the key itself."""
    made = {key: label_of(key) if _NAME.fullmatch(key) else "" for key in keys}
    said = list(made.values())
    return {key: label if label and said.count(label) == 1 else "" for key, label in made.items()}


def _row(label: str, key: str, value: object) -> Row:
    exact = _exact(key, label)
    if isinstance(value, dict):
        labels = _labels(list(value))
        nested = tuple(_row(labels[name], name, each) for name, each in value.items())
        return _nest(label, exact, nested, noun="field", empty="empty object")
    if isinstance(value, list):
        items = tuple(_row(str(place), "", each) for place, each in enumerate(value, start=1))
        return _nest(label, exact, items, noun="item", empty="empty list")
    if value is None:
        return Row(label, exact, none="null")
    if isinstance(value, bool):
        return Row(label, exact, (Piece("true" if value else "false"),))
    assert isinstance(value, str)  # noqa: S101  # JSON has no other kinds
    return Row(label, exact, (Piece(value),)) if isinstance(value, Literal) else _text(label, exact, value)


def _text(label: str, key: tuple[Piece, ...], value: str) -> Row:
    if not value:
        return Row(label, key, none="empty text")
    return Row(
        label,
        key,
        characters.pieces(value),
        length=len(value),
        folds=len(value) > FOLD_LENGTH or value.count("\n") >= FOLD_LINES,
        is_text=_looks_typed(value),
        mixture=characters.mixture(value),
    )


def _looks_typed(text: str) -> bool:
    """Could be taken for a number, a date, a truth value, nothing, or JSON."""
    numeric = _NUMERIC.issuperset(text) and any(map(str.isdigit, text))
    return numeric or text.lower() in _CONSTANTS or text[0] in '[{"'


def _nest(label: str, key: tuple[Piece, ...], rows: tuple[Row, ...], *, noun: str, empty: str) -> Row:
    if not rows:
        return Row(label, key, none=empty)
    return Row(label, key, count=f"{len(rows)} {noun}{'s' if len(rows) > 1 else ''}", rows=rows)


def _exact(key: str, label: str) -> tuple[Piece, ...]:
    if label:
        return ()
    return characters.pieces(key) or (Piece("empty key"),)


def _all(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        yield row
        yield from _all(row.rows)
