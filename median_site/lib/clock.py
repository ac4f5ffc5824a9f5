"""The one place that says what time it is. Deadlines are decided by the database's clock, in the deciding statement."""

from datetime import UTC, datetime


def now() -> datetime:
    """The current moment, aware, in UTC."""
    return datetime.now(UTC)
