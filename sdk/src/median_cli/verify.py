"""`median verify-log`: whether the log is as it was written, from the installation or from an exported file."""

import json
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from median_tools import chain

from median_cli import config, show
from median_cli.api import Api
from median_cli.failures import Failed, Usage
from median_cli.options import AsJson

PAGE = 100


def verify_log(
    file: Annotated[
        Path | None, typer.Option("--file", help="An export of the whole log as JSON lines; no network is needed.")
    ] = None,
    start: Annotated[int, typer.Option("--from", min=0, help="Begin at this row and trust what is before it.")] = 0,
    head: Annotated[str, typer.Option("--head", help="The hash of a row, noted earlier: it must still be there.")] = "",
    as_json: AsJson = False,
) -> None:
    """Check every row of the log against the one before it; print the head, or name the first row that does not fit.

    Without a head that was noted elsewhere, nobody can tell whether the log was cut short and hashed anew.
    """
    noted = head.strip().lower()
    if noted and not re.fullmatch("[0-9a-f]{64}", noted):
        raise Usage("--head is the whole hash of a row: 64 digits and letters from a to f.")
    try:
        found = _of_file(file, start, noted) if file else _of_installation(start, noted)
    except chain.Broken as broken:
        if as_json:
            show.as_json({"ok": False, "row": broken.position, "change": broken.change, "message": broken.message})
            raise typer.Exit(1) from None
        raise Failed(broken.message) from broken
    if as_json:
        at = {"position": found.head.position, "hash": found.head.hash}
        show.as_json({"ok": True, "rows": found.rows, "head": at})
    else:
        show.line(f"{found.rows:,} {'row is as it was' if found.rows == 1 else 'rows are as they were'} written.")
        show.line(f"Head: row {found.head.position}, {found.head.hash}")


def _of_installation(start: int, noted: str) -> chain.Verified:
    with Api(config.read()) as api:
        end = api.get("/events/head")
        dropped = end["dropped"]
        first = chain.Head(dropped["position"], dropped["hash"]) if dropped else chain.START
        if start and start <= first.position:
            raise Usage(f"--from: the log begins at row {first.position + 1}; what was before it is past its time.")
        if start > end["position"]:
            raise Usage(f"--from: the log ends at row {end['position']}.")
        after = chain.Head(start - 1, "") if start else first
        return chain.verify(_pages(api, after.position), after=after, until=end["position"], noted=noted)


def _pages(api: Api, position: int) -> Iterator[Any]:
    while page := api.get("/events", after_position=position, limit=PAGE)["data"]:
        yield from page
        position = page[-1]["position"]


def _of_file(file: Path, start: int, noted: str) -> chain.Verified:
    after = chain.Head(start - 1, "") if start else chain.START
    try:
        with file.open("rb") as lines:
            rows = (row for row in _oldest_first(lines) if row["position"] >= start)
            return chain.verify(rows, after=after, noted=noted)
    except OSError as error:
        raise Usage(f"--file: {error.strerror}: {file}") from error


def _oldest_first(file: BinaryIO) -> Iterator[Any]:
    """The events of an export, which has the newest first. One is held at a time, and those without a place yet are
    left out."""
    offsets = array("Q")
    while file.peek(1):  # type: ignore[attr-defined]  # a file opened for reading has it
        offsets.append(file.tell())
        file.readline()
    if len(offsets) > 1 and _place(file, offsets[0]) > _place(file, offsets[-1]):
        offsets.reverse()
    for offset in offsets:
        row = _event(file, offset)
        if row and row["position"] is not None:
            yield row


def _place(file: BinaryIO, offset: int) -> int:
    row = _event(file, offset)
    return row["position"] or 2**63 if row else 2**63  # one without a place is the newest


def _event(file: BinaryIO, offset: int) -> Any:
    file.seek(offset)
    line = file.readline()
    try:
        row = json.loads(line) if line.strip() else None
        fits = row is None or isinstance(row["position"], int | None)
    except (ValueError, TypeError, KeyError, RecursionError):
        fits = False
    if not fits:
        raise Failed(f"This is no event of an export: {line[:80].decode(errors='replace').strip()}")
    return row
