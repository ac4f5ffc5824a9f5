"""Finding conversations by what was said in them and by who wrote. Reads only.

A word that is common fills the page from the newest conversations; one that is rare is looked up in the indexes. What
is neither is given up after PATIENCE, and the answer says so: no text takes longer.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from django.contrib.postgres.search import SearchQuery
from django.db import OperationalError, connection, transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from markupsafe import Markup, escape

from conversations.models import SPOKEN, Conversation, Customer, Item
from conversations.words import Names, Words
from median_site.lib import text

LONGEST: Final = 100
WORDS: Final = 8
NEAR: Final = 200
# Of all messages that match, so many of the newest count.
MOST: Final = 20_000
PATIENCE: Final = "1s"
NEWEST: Final = ("-last_at", "-id")

_PIECE: Final = re.compile(r"[^\W_]+")
_BEFORE: Final = 40


@dataclass(frozen=True, slots=True)
class Search:
    """What somebody looks for: all of the words in one message, or all of them in what the customer is called."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, typed: str) -> "Search":
        return cls(tuple(word for word in text.clean(typed)[0][:LONGEST].split() if _PIECE.search(word))[:WORDS])

    def messages(self, workspace_id: str) -> QuerySet[Item]:
        """Messages and notes with all words. Each may be the beginning of a longer one."""
        pieces = [_PIECE.findall(word) for word in self.words]
        quoted = [" <-> ".join(f"'{piece}'" for piece in each) + ":*" for each in pieces]
        query = SearchQuery(" & ".join(quoted), config="simple", search_type="raw")
        rows = Item.objects.filter(workspace_id=workspace_id, kind__in=SPOKEN)
        return rows.alias(words=Words("text")).filter(words=query)

    def customers(self, workspace_id: str) -> QuerySet[Customer]:
        """Customers whose name, email and subject hold all words; one of two letters only begins a name."""
        rows = Customer.objects.filter(workspace_id=workspace_id).alias(names=Names("name", "email", "subject"))
        for word in self.words:
            rows = rows.filter(names__contains=word.lower() if len(word) > 2 else f" {word.lower()}")
        return rows


@dataclass(frozen=True, slots=True)
class Found:
    """Conversations, newest first; `gave_up`: only the newest ones were looked through."""

    rows: list[Conversation]
    gave_up: bool = False


def among(rows: QuerySet[Conversation], search: Search, *, workspace_id: str, limit: int) -> Found:
    """Those of a workspace's conversations that match, at most `limit`. Two queries."""
    if not search.words:
        return Found([])
    said, known = search.messages(workspace_id), search.customers(workspace_id)
    near = rows.filter(id__in=rows.order_by(*NEWEST).values("id")[:NEAR])
    here = said.filter(conversation_id=OuterRef("pk"))
    who = known.filter(id=OuterRef("customer_id"))
    found = list(near.filter(Exists(here) | Exists(who)).order_by(*NEWEST)[:limit])
    if len(found) == limit:
        return Found(found)
    # By a sum, so that no plan walks all messages in the order of their ids until enough match.
    newest = said.order_by((F("id") + 0).desc()).values("conversation_id")[:MOST]
    theirs = Conversation.objects.filter(workspace_id=workspace_id, customer__in=known).values("id")
    try:
        with _patience():
            return Found(list(rows.filter(id__in=newest.union(theirs, all=True)).order_by(*NEWEST)[:limit]))
    except OperationalError:  # it took too long
        return Found(found, gave_up=True)


def passages(found: Sequence[Conversation], search: Search, *, workspace_id: str) -> dict[str, Markup]:
    """What the newest matching message of each conversation says around the words, by the conversation's id."""
    if not found or not search.words:
        return {}
    items = search.messages(workspace_id).filter(conversation__in=found)
    newest = items.order_by("conversation_id", "-number").distinct("conversation_id")
    return {
        item.conversation_id: marked(" ".join(item.text.split()), search, from_first=True)
        for item in newest.only("conversation_id", "text")
    }


def marked(shown: str, search: Search, *, from_first: bool = False) -> Markup:
    """The text with the words marked; `from_first`: cut so that the first of them can be seen."""
    pieces = sorted({piece for word in search.words for piece in _PIECE.findall(word)}, key=len, reverse=True)
    pattern = re.compile("(" + "|".join(map(re.escape, pieces)) + ")", re.IGNORECASE)
    first = pattern.search(shown)
    if from_first and first and first.start() > _BEFORE:
        shown = "…" + shown[first.start() - _BEFORE // 2 :]
    parts = pattern.split(text.excerpt(shown, 200))
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if is_word else escape(part) for part, is_word in _alternate(parts)
    )


def _alternate(parts: Sequence[str]) -> Iterator[tuple[str, bool]]:
    return ((part, number % 2 == 1) for number, part in enumerate(parts))


@contextmanager
def _patience() -> Iterator[None]:
    """Statements inside end after PATIENCE, with an OperationalError."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("select set_config('statement_timeout', %s, true)", [PATIENCE])
        yield
        with connection.cursor() as cursor:
            cursor.execute("set local statement_timeout to default")
