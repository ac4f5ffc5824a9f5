"""Lists a page at a time, by key and never by count: `limit` and `cursor` in, `data` and `next_cursor` out."""

import base64
import binascii
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

from django.db.models import Model, Q, QuerySet

from median_site.api.answers import Page
from median_site.lib import strict_json
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import JsonError

MOST: Final = 100
M = TypeVar("M", bound=Model)
T = TypeVar("T")


class BadCursor(DomainError):
    code = "invalid"
    message = "This cursor is not one of ours. Start the list again without it."
    status = 422


def page(
    rows: "QuerySet[M]",
    *,
    by: str,
    shape: Callable[[list[M]], list[T]],
    cursor: str | None,
    limit: int,
) -> Page[T]:
    """The newest rows first by the time field `by`, then by id. `shape` gets the page's rows at once."""
    if cursor:
        rows = rows.filter(after(cursor, by=by))
    found = list(rows.order_by(f"-{by}", "-id")[: limit + 1])
    shown = found[:limit]
    more = cursor_of(getattr(shown[-1], by), shown[-1].pk) if len(found) > limit else None
    return {"data": shape(shown), "next_cursor": more}


def after(cursor: str, *, by: str) -> Q:
    """Rows that the pages up to this cursor did not have. Raises BadCursor."""
    at, row_id = _read(cursor)
    # The first condition alone says where the index is to be entered: the 10,000th page costs what the first does.
    return Q((f"{by}__lte", at)) & (Q((f"{by}__lt", at)) | Q(id__lt=row_id))


def whole(data: list[T]) -> Page[T]:
    """A list that always fits on one page."""
    return {"data": data, "next_cursor": None}


def cursor_of(at: datetime, row_id: Any) -> str:  # a primary key may be of any kind
    """What the page after this row is asked for with."""
    return base64.urlsafe_b64encode(strict_json.dumps([at.isoformat(), str(row_id)]).encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[datetime, str]:
    try:
        padded = cursor[:300] + "=" * (-len(cursor[:300]) % 4)
        at, row_id = strict_json.loads(base64.urlsafe_b64decode(padded))  # type: ignore[misc]  # checked below
        moment = datetime.fromisoformat(str(at))
    except (ValueError, TypeError, binascii.Error, JsonError) as error:
        raise BadCursor(field="cursor") from error
    if moment.tzinfo is None or not isinstance(row_id, str) or strict_json.has_nul_or_surrogate(row_id):
        raise BadCursor(field="cursor")
    return moment, row_id
