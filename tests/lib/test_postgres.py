"""The database backend: one index for a text key, not two."""

import pytest
from django.db import connection


@pytest.mark.django_db
def test_no_text_key_has_a_second_index_for_like() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select count(*), count(*) filter (where indexdef like '%%_pattern_ops%%') from pg_indexes")
        indexes, for_like = cursor.fetchone()
    assert for_like == 0
    assert indexes > 100
