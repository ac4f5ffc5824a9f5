"""Many rows at once: without the tables' indexes and triggers, which are there again, built whole, when it is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

_SETTINGS: Final = """
set local session_replication_role = replica;
set local synchronous_commit = off;
set local maintenance_work_mem = '1GB';
"""
# Those that no constraint stands on.
_INDEXES: Final = """
select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index
where indrelid = any(%s::regclass[]) and not exists (select from pg_constraint where conindid = indexrelid)
"""


@contextmanager
def loading(*tables: str, rows: int) -> Iterator[CursorWrapper]:
    """A cursor to write about `rows` rows a table with. Either all of it is there at the end, or nothing.

    Where the first table has more rows than that already, its indexes stay: that is quicker then.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        cursor.execute("select reltuples from pg_class where oid = %s::regclass", [tables[0]])
        has = cursor.fetchone()[0]
        cursor.execute(_INDEXES, [list(tables) if has < rows else []])
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"drop index {name}")
        yield cursor
        for _, definition in indexes:
            cursor.execute(definition)
    with connection.cursor() as cursor:
        cursor.execute(f"vacuum analyze {', '.join(tables)}")
