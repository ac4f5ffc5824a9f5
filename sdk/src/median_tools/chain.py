"""Whether a log is as it was written: each event carries the hash of the one before it. Standard library alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from median_tools.canonical import sha256_hex

NOTHING_BEFORE: Final = "0" * 64  # the hash before the first event
HASHED: Final = (
    "id", "kind", "at", "actor", "conversation_id", "subject_id", "tool", "data", "position", "previous_hash",
)  # fmt: skip
# How far a row may have been moved for us to say so; beyond that it was changed.
NEAR: Final = 100

Row = Mapping[str, Any]  # an event as the API and an export give it


@dataclass(frozen=True)
class Head:
    """A place in the log and the hash of the event there; an empty hash is not known."""

    position: int
    hash: str


START: Final = Head(0, NOTHING_BEFORE)


@dataclass(frozen=True)
class Verified:
    """How many events stand as they were written, and the last one of them."""

    rows: int
    head: Head


class Broken(Exception):
    """The first place at which the log is not as it was written: `change` is changed, removed or inserted."""

    def __init__(self, position: int, change: str, message: str) -> None:
        super().__init__(message)
        self.position = position
        self.change = change
        self.message = message


def verify(rows: Iterable[Row], *, after: Head = START, until: int = 0, noted: str = "") -> Verified:
    """Check events in their order, holding one at a time. Raises Broken.

    `after` is what stands before the first of them. There must be rows up to the position `until`, and one whose hash
    is `noted`: only that tells of rows cut off the end and of a log that was written anew as a whole.
    """
    last, count, met = after, 0, noted in ("", after.hash)
    for row in rows:
        last = _next(row, last)
        count += 1
        met = met or last.hash == noted
    if last.position < until:
        raise _missing(last.position + 1, until)
    if not met:
        raise Broken(
            last.position + 1,
            "removed",
            f"The head that you noted is not in the log, which ends at row {last.position}: rows were cut off its end, "
            "or it was written anew.",
        )
    return Verified(count, last)


def hash_of(row: Row) -> str:
    """The SHA-256 that an event must carry. Raises KeyError where it lacks a field."""
    return sha256_hex({name: row[name] for name in HASHED})


def _next(row: Row, last: Head) -> Head:
    """The place after `last`, where this row must stand."""
    position, expected = row.get("position"), last.position + 1
    if not isinstance(position, int) or any(name not in row for name in (*HASHED, "hash")):
        raise Broken(expected, "inserted", f"What stands in row {expected}'s place is no event of the chain.")
    if position > expected:
        raise _missing(expected, position - 1)
    if position < expected:
        raise Broken(position, "inserted", f"A second row {position} was put in (event {row['id']}).")
    try:
        fits = hash_of(row) == row["hash"]
    except (ValueError, RecursionError):  # what is in it now is no JSON
        raise Broken(position, "changed", f"Row {position} was changed (event {row['id']}).") from None
    if not fits:
        raise _unlike(row)
    if last.hash and row["previous_hash"] != last.hash:
        raise _unfollowed(position)
    return Head(position, str(row["hash"]))


def _missing(first: int, last: int) -> Broken:
    named = f"Row {first} was" if first == last else f"Rows {first} to {last} were"
    return Broken(first, "removed", f"{named} removed.")


def _unlike(row: Row) -> Broken:
    """What happened to a row whose hash does not fit it: it may fit another place nearby."""
    position = int(row["position"])
    for shift in range(1, NEAR):
        if hash_of({**row, "position": position - shift}) == row["hash"]:
            put_in = position - shift
            return Broken(put_in, "inserted", f"Row {put_in} was put in: row {position} was written as row {put_in}.")
        if hash_of({**row, "position": position + shift}) == row["hash"]:
            return Broken(
                position,
                "removed",
                f"Row {position} was removed or moved: what stands there was written as row {position + shift}.",
            )
    return Broken(position, "changed", f"Row {position} was changed (event {row['id']}).")


def _unfollowed(position: int) -> Broken:
    if position == 1:
        return Broken(1, "changed", "Row 1 was changed: it does not begin the log.")
    before = position - 1
    return Broken(
        before, "changed", f"Row {before} was changed or put in: row {position} was written after another one."
    )
