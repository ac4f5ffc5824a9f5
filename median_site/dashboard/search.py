"""Finding conversations by what was said in them, who wrote, and which orders tools were called with. Reads only.

A word that is common fills the page from the newest conversations; one that is rare is looked up in the indexes. What
is neither is given up after PATIENCE, and the answer says so: no text takes longer.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib.postgres.search import SearchQuery
from django.db import OperationalError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from markupsafe import Markup, escape

from approvals.models import ToolApproval
from conversations.models import SPOKEN, Conversation, Customer, Item
from conversations.words import Names, Words
from median_site.lib import text
from tools import values
from tools.models import ToolRun

LONGEST: Final = 100
WORDS: Final = 8
NEAR: Final = 200
# Of all messages that match, so many of the newest count.
MOST: Final = 20_000
# And of those whose customer or order is right, so many of the newest are looked into for the other words.
MIXED: Final = 1_000
PATIENCE: Final = "1s"
NEWEST: Final = ("-last_at", "-id")

_PIECE: Final = re.compile(r"[^\W_]+")
_BEFORE: Final = 40


@dataclass(frozen=True, slots=True)
class Search:
    """What somebody looks for: words, each in a message, in what the customer is called, or in a call's input.

    Only words with a digit are looked for in inputs: the keys of an input are in every other call as well.
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, typed: str) -> "Search":
        return cls(tuple(word for word in text.clean(typed)[0][:LONGEST].split() if _PIECE.search(word))[:WORDS])

    @property
    def apart(self) -> list["Search"]:
        """A search for each of the words."""
        return [Search((word,)) for word in self.words]

    @property
    def numbers(self) -> "Search":
        """The words that may be an order's number."""
        return Search(tuple(word for word in self.words if any(letter.isdigit() for letter in word)))

    def messages(self, workspace_id: str) -> QuerySet[Item]:
        """Messages and notes with all words."""
        rows = Item.objects.filter(workspace_id=workspace_id, kind__in=SPOKEN)
        return rows.alias(words=Words("text")).filter(words=self._query)

    def runs(self, workspace_id: str) -> QuerySet[ToolRun]:
        """Calls in conversations whose input has all words."""
        rows = ToolRun.objects.filter(workspace_id=workspace_id, conversation__isnull=False)
        return rows.alias(words=Words("input")).filter(words=self._query)

    def requests(self, workspace_id: str) -> QuerySet[ToolApproval]:
        """The same for requests, of which many never became a call."""
        rows = ToolApproval.objects.filter(workspace_id=workspace_id)
        return rows.alias(words=Words("input")).filter(words=self._query)

    def customers(self, workspace_id: str, *, by_any: bool = False) -> QuerySet[Customer]:
        """Customers whose name, email and subject hold all words, or any; one of two letters only begins a name."""
        rows = Customer.objects.filter(workspace_id=workspace_id).alias(names=Names("name", "email", "subject"))
        held = [Q(names__contains=word.lower() if len(word) > 2 else f" {word.lower()}") for word in self.words]
        return rows.filter(Q(*held, _connector=Q.OR if by_any else Q.AND))

    @property
    def _query(self) -> SearchQuery:
        """All words, each perhaps the beginning of a longer one."""
        pieces = [_PIECE.findall(word) for word in self.words]
        quoted = [" <-> ".join(f"'{piece}'" for piece in each) + ":*" for each in pieces]
        return SearchQuery(" & ".join(quoted), config="simple", search_type="raw")


@dataclass(frozen=True, slots=True)
class Found:
    """Conversations, newest first; `gave_up`: only the newest ones were looked through."""

    rows: list[Conversation]
    gave_up: bool = False


def among(rows: QuerySet[Conversation], search: Search, *, workspace_id: str, limit: int) -> Found:
    """Those of a workspace's conversations that match, at most `limit`. Two queries."""
    if not search.words:
        return Found([])
    near = rows.filter(id__in=rows.order_by(*NEWEST).values("id")[:NEAR])
    found = list(_with_each_word(near, search, workspace_id).order_by(*NEWEST)[:limit])
    if len(found) == limit:
        return Found(found)
    try:
        with _patience():
            ids = _indexed(search, workspace_id)
            return Found(list(rows.filter(id__in=ids[0].union(*ids[1:], all=True)).order_by(*NEWEST)[:limit]))
    except OperationalError:  # it took too long
        return Found(found, gave_up=True)


def _with_each_word(rows: QuerySet[Conversation], search: Search, workspace_id: str) -> QuerySet[Conversation]:
    """Those of a few conversations in which each word is somewhere."""
    for word in search.apart:
        has = Q(Exists(word.customers(workspace_id).filter(id=OuterRef("customer_id"))))
        if word.numbers.words:
            has |= Q(Exists(word.runs(workspace_id).filter(conversation_id=OuterRef("pk"))))
            has |= Q(Exists(word.requests(workspace_id).filter(conversation_id=OuterRef("pk"))))
        rows = rows.filter(has | Q(Exists(word.messages(workspace_id).filter(conversation_id=OuterRef("pk")))))
    return rows


def _indexed(search: Search, workspace_id: str) -> list[QuerySet[Any, Any]]:
    """Ids of conversations, each from an index: all words in one message; all in the customer; all in an input; and
    for several words, the newest of those that the customer or an input makes likely, with each word somewhere.
    """
    here = Conversation.objects.filter(workspace_id=workspace_id)
    # By a sum, so that no plan walks all rows in the order of an index until enough match.
    said = search.messages(workspace_id).order_by((F("id") + 0).desc()).values("conversation_id")[:MOST]
    ids = [said, here.filter(customer__in=search.customers(workspace_id)).values("id")]
    numbers = search.numbers
    if numbers == search:
        ids += [rows.values("conversation_id")[:MOST] for rows in _inputs(search, workspace_id)]
    if len(search.words) > 1:
        likely = Q(customer__in=search.customers(workspace_id, by_any=True))
        for number in numbers.apart:
            for rows in _inputs(number, workspace_id):
                likely |= Q(id__in=rows.values("conversation_id")[:MOST])
        newest = here.filter(likely).order_by((F("last_at") + timedelta()).desc()).values("id")[:MIXED]
        ids.append(_with_each_word(here.filter(id__in=newest), search, workspace_id).values("id"))
    return ids


def _inputs(search: Search, workspace_id: str) -> list[QuerySet[ToolRun] | QuerySet[ToolApproval]]:
    return [search.runs(workspace_id), search.requests(workspace_id)]


def passages(found: Sequence[Conversation], search: Search, *, workspace_id: str) -> dict[str, Markup]:
    """What the newest matching message of each conversation says around the words, by the conversation's id; where
    there is none, a call or request whose input has the number.
    """
    if not found or not search.words:
        return {}
    items = search.messages(workspace_id).filter(conversation__in=found)
    newest = items.order_by("conversation_id", "-number").distinct("conversation_id")
    shown = {item.conversation_id: item.text for item in newest.only("conversation_id", "text")}
    if search.numbers.words:
        for rows in _inputs(search.numbers, workspace_id):
            for row in rows.filter(conversation__in=[each for each in found if each.id not in shown]):
                shown[str(row.conversation_id)] = f"{row.tool_label}: {values.rows_of(row.input).one_line or row.input}"
    return {id: marked(" ".join(said.split()), search, from_first=True) for id, said in shown.items()}


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
