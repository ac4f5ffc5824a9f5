"""What a command prints: tables and sentences for people, JSON for programs, errors on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from median_cli.characters import is_hidden, mixed

out = Console(highlight=False, soft_wrap=True, markup=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)

WIDEST = 100_000
STYLES = {"reviewed": "yellow", "high": "red"}


def as_json(value: Any) -> None:
    """One JSON document on standard output, whatever the terminal is."""
    _write_json(value, indent=2 if sys.stdout.isatty() else None)


def line_of_json(value: Any) -> None:
    """One JSON document on one line, for a stream of them."""
    _write_json(value, indent=None)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """A table whose cells are whole: where a terminal is too narrow for it, each row's cells stand below each other.

    Prints the sentence when there are no rows.
    """
    cells = [[cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row] for row in rows]
    made = Table(*(Column(name, no_wrap=True) for name in columns), box=None, header_style="bold", pad_edge=False)
    for row in cells:
        made.add_row(*row)
    width = out.measure(made, options=out.options.update(max_width=WIDEST)).maximum
    if not cells:
        out.print(empty)
    elif out.is_terminal and width > out.width:
        for row in cells:
            _stacked(columns, row)
    else:
        out.width = max(out.width, width)
        out.print(made)


def risk(level: str) -> Text:
    return Text(clean(level), STYLES.get(level, ""))


def line(sentence: str) -> None:
    """One line, whatever stands in it."""
    out.print(clean(sentence))


def block(text: str, *, indent: str = "") -> None:
    """A text with its lines, each after the first behind `indent`."""
    out.print(f"\n{indent}".join(clean(part, keep="\t") for part in text.split("\n")))


def error(sentence: str) -> None:
    err.print(clean(sentence))


def clean(value: object, *, keep: str = "") -> str:
    """Control and hidden characters written out, so that no text of a customer or a tool steers the terminal."""
    text = "" if value is None else str(value)
    return "".join(_escaped(char) if is_hidden(char) and char not in keep else char for char in text)


def when(moment: str | None) -> str:
    """A time of the API in this machine's zone."""
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone().strftime("%d %b %H:%M") if moment else ""


def compact(value: Any) -> str:
    """JSON on one line, with a hint where letters of another script hide among Latin ones."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    odd = "".join(map(_escaped, mixed(text.replace('"', " "))))
    return f"{text}  (letters that only look Latin: {odd})" if odd else text


def _stacked(columns: Sequence[str], row: Sequence[Text]) -> None:
    out.print(row[0], style="bold")
    longest = max(map(len, columns))
    for name, cell in zip(columns[1:], row[1:], strict=True):
        out.print(Text(f"  {name:<{longest}}  ").append_text(cell))


def _write_json(value: Any, *, indent: int | None) -> None:
    """Valid JSON that steers no terminal either: what does not print, or is not in its charset, stands as \\u."""
    is_ascii = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)
    sys.stdout.write("".join(_escaped(char) if is_hidden(char) and char != "\n" else char for char in text) + "\n")
    sys.stdout.flush()


def _escaped(char: str) -> str:
    """As JSON writes it."""
    return {"\n": "\\n", "\t": "\\t"}.get(char) or "".join(
        f"\\u{unit:04x}" for unit in memoryview(char.encode("utf-16-le", "surrogatepass")).cast("H")
    )
