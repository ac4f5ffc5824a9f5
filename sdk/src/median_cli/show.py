"""What a command prints: tables and sentences for people, JSON for programs, errors on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False)

RISKS = {"low": "low", "medium": "medium", "reviewed": "[yellow]reviewed[/]", "high": "[red]high[/]"}


def as_json(value: Any) -> None:
    """One JSON document on standard output, whatever the terminal is."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None) + "\n")
    sys.stdout.flush()


def line_of_json(value: Any) -> None:
    """One JSON document on one line, for a stream of them."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """A table, or the sentence when there is nothing in it. Cells are text, never markup."""
    made = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, str) and cell in RISKS.values() else text(cell) for cell in row))
    out.print(made if made.row_count else empty)


def line(sentence: str) -> None:
    out.print(escape(clean(sentence)))


def text(value: object) -> str:
    return escape(clean("" if value is None else str(value)))


def clean(value: str) -> str:
    """Control characters written out, so that no text of a customer or a tool steers the terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\u{ord(char):04x}" for char in value)


def when(moment: str | None) -> str:
    """A time of the API in this machine's zone."""
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone().strftime("%d %b %H:%M") if moment else ""


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
