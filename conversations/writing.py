"""What somebody is about to say: a text, files, or both, within the limits of a message. Pure."""

from collections.abc import Sequence
from typing import Final

from conversations.files import File
from median_site.lib import text
from median_site.lib.errors import DomainError

TEXT_LIMIT: Final = 8_000
EXCERPT_LENGTH: Final = 200


class EmptyText(DomainError):
    code = "empty"
    message = "Write something first."
    status = 422


class TextTooLong(DomainError):
    code = "too_long"
    message = f"A message has at most {TEXT_LIMIT:,} characters."
    status = 422


def check(body: str, *, files: Sequence[str] = ()) -> None:
    """Raises EmptyText for neither text nor files, TextTooLong."""
    if text.is_blank(body) and not files:
        raise EmptyText(field="text")
    if len(body) > TEXT_LIMIT:
        raise TextTooLong(field="text")


def excerpt(body: str, files: Sequence[File]) -> str:
    """What the queue shows of it: the text, or the names of the files."""
    return text.excerpt(", ".join(file.name for file in files) if text.is_blank(body) else body, EXCERPT_LENGTH)
