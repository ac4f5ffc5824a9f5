"""Places in a list that is ordered by a moment and an id, newest first: how they are written in a link, and what stands
on either side. The 10,000th page costs what the first does."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Self, TypeVar

from django.db.models import Model, Q, QuerySet

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Place:
    at: datetime
    id: str

    @classmethod
    def of(cls, text: str, *, numbered: bool = False) -> Self | None:
        """The place that a link names; None for what names none. `numbered`: the ids are numbers."""
        moment, _, row_id = text.partition("_")
        try:
            at = datetime.fromisoformat(moment)
        except ValueError:
            return None
        is_id = row_id.isascii() and (row_id.isdecimal() and len(row_id) < 19 if numbered else row_id.isprintable())
        return cls(at, row_id) if at.tzinfo and is_id else None

    def __str__(self) -> str:
        return f"{self.at.isoformat()}_{self.id}"

    def older(self, field: str) -> Q:
        """Rows that come after this place in the list; `field` holds their moment."""
        return Q((f"{field}__lte", self.at)) & (Q((f"{field}__lt", self.at)) | Q(id__lt=self.id))

    def newer(self, field: str) -> Q:
        """Rows that come before this place in the list."""
        return Q((f"{field}__gte", self.at)) & (Q((f"{field}__gt", self.at)) | Q(id__gt=self.id))


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows, and the place that the next page goes on from."""

    rows: list[Row]
    next: Place | None = None


def page(rows: QuerySet[Row], *, by: str, size: int, after: Place | None, oldest_first: bool = False) -> Page[Row]:
    """So many rows by their moment `by`, the newest first, after a place. One query."""
    if after:
        rows = rows.filter(after.newer(by) if oldest_first else after.older(by))
    found = list(rows.order_by(*((by, "id") if oldest_first else (f"-{by}", "-id")))[: size + 1])
    last = found[size - 1] if len(found) > size else None
    return Page(found[:size], Place(getattr(last, by), str(last.pk)) if last else None)
