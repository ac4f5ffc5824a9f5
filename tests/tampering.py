"""What only somebody with the database in hand can do to the log: the triggers that keep it as it is are off within."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def tampering() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("set session_replication_role = replica")
        try:
            yield
        finally:
            cursor.execute("set session_replication_role = origin")
