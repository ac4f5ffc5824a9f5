"""Several writes as one statement: everything that a decision, a result or an expiry leaves behind, in one round trip.

Nothing here knows a table. Each app adds the part that writes its own; parts read each other's rows by their names.
"""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any, Final, Self, TypeAlias, cast

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Field, Model
from django.db.models.fields import AutoFieldMixin

from median_site.lib import layer

Value = Any  # whatever psycopg adapts
Row = tuple[object, ...]
AnyField: TypeAlias = "Field[object, object]"

_LENGTH: Final = re.compile(r"\(\d+\)")


class Statement:
    """`with recursive NAME as (SQL), … SELECT`: the order of the parts does not matter, and each name stands once.

    All parts see the rows as they were when the lock was had; what another part made of them is in its RETURNING. A row
    may be written by one part only. In the caller's transaction, or else one of its own.
    """

    def __init__(self) -> None:
        self._parts: dict[str, tuple[str, list[Value]]] = {}
        self._bells: list[tuple[str, list[Value]]] = []

    def __contains__(self, name: str) -> bool:
        return name in self._parts

    def add(self, name: str, sql: str, *values: Value) -> None:
        """A part: its rows, if it has some, are read by the others under this name."""
        if name in self._parts:
            raise ValueError(f"The statement has a part {name} already.")
        self._parts[name] = (sql, list(values))

    def insert(self, name: str, row: Model, /, *, source: str, **columns: str) -> None:
        """A part that puts a copy of an unsaved row in for each row of `source`.

        `columns` are SQL expressions over the source for those that differ; %s in one is the unsaved row's own value.
        """
        head, fields = _insertion(type(row), _blanks(row), tuple(columns.items()))
        values = (field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields)
        self.add(name, f"{head} from {source}", *values)

    def ring(self, bells: str, *values: Value) -> None:
        """Doorbells, heard at the commit: a SELECT of groups and messages (median_site.lib.live writes it)."""
        self._bells.append((bells, list(values)))

    def run(self, *, lock: str, values: Iterable[Value], give: str) -> list[Row]:
        """Take the lock, then write, in one round trip. Gives the rows of `give`: columns of parts, with their FROM.

        The lock is a statement of its own, so that the writes see what those who had it before have left.
        """
        current = layer.current()
        rung = " union all ".join(sql for sql, _ in self._bells)
        bells = f"(select {current.RING} from ({rung}) bell (of, message))" if rung else "null"  # noqa: S608  # names in the code
        parts = ", ".join(f"{name} as ({sql})" for name, (sql, _) in self._parts.items())
        written = [value for _, held in [*self._parts.values(), *self._bells] for value in held]
        sql = f"with recursive {parts} select {bells}, {give}"
        rows = _pipelined((lock, list(values)), (sql, written))
        if rows and rung:
            current.rung(rows[0][0])
        return [row[1:] for row in rows]


class _Cursor(psycopg.RawCursor[Row]):
    """Takes %s like any other. psycopg's own would take a text as long as these apart anew each time."""

    def execute(self, query: Any, *rest: Any, **options: Any) -> Self:
        return super().execute(_numbered(query), *rest, **options)


def among(values: Collection[str]) -> tuple[str, Value]:
    """What follows a column that has one of these values. For one it is planned for one, and that plan is kept."""
    return ("= %s", next(iter(values))) if len(values) == 1 else ("= any(%s)", list(values))


def fetch(sql: str, *values: Value) -> list[Row]:
    """The rows of one statement whose plan the server keeps."""
    with _cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())


def _pipelined(first: tuple[str, list[Value]], last: tuple[str, list[Value]]) -> list[Row]:
    """Both at once, in one transaction; the rows of the last. Their plans, which cost as much again, are kept."""
    connection.ensure_connection()
    with _cursor() as locking, _cursor() as writing:
        with connection.wrap_database_errors, connection.connection.pipeline():
            locking.execute(*first)
            writing.execute(*last)
        return list(writing.fetchall())


def _cursor() -> CursorWrapper:
    """Django's own cursors put the values into the text, which the server then has to plan anew."""
    connection.ensure_connection()
    cursor = cast(CursorWrapper, _Cursor(connection.connection))
    return connection.make_debug_cursor(cursor) if connection.queries_logged else connection.make_cursor(cursor)


@lru_cache(maxsize=256)
def _numbered(sql: str) -> str:
    """With PostgreSQL's own placeholders: $1, $2, …"""
    first, *others = sql.split("%s")
    return first + "".join(f"${number}{text}" for number, text in enumerate(others, 1))


def _blanks(row: Model) -> frozenset[str]:
    """The columns that hold nothing: written as constants, they need no values."""
    return frozenset(field.column for field in row._meta.concrete_fields if getattr(row, field.attname) in ("", None))


@lru_cache(maxsize=256)
def _insertion(
    model: type[Model], blanks: frozenset[str], columns: tuple[tuple[str, str], ...]
) -> "tuple[str, tuple[AnyField, ...]]":
    """INSERT … SELECT without its FROM, and the fields that fill its placeholders."""
    given = dict(columns)
    fields = [f for f in model._meta.concrete_fields if f.column in given or not isinstance(f, AutoFieldMixin)]
    chosen = {f: given.get(f.column) or _own(f, is_blank=f.column in blanks) for f in fields}
    head = f"insert into {model._meta.db_table} ({', '.join(f.column for f in fields)})"
    return f"{head} select {', '.join(chosen.values())}", tuple(f for f in fields if "%s" in chosen[f])


def _own(field: "AnyField", *, is_blank: bool) -> str:
    """A column's own value. Its type is named without a length: a cast would cut what the column refuses."""
    if is_blank:
        return "null" if field.null else "''"
    return f"%s::{_LENGTH.sub('', field.db_type(connection) or 'text')}"
