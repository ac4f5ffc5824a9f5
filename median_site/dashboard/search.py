"""Finding conversations by what was said in them, who wrote, and which orders tools were called with. Reads only.

What is common fills the page from the newest conversations, at once or with a second look at more of them; what is rare
is looked up in the indexes. Whatever takes longer than PATIENCE is given up, and the answer says so.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib.postgres.search import SearchQuery
from django.db import OperationalError, connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat
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
# So many more are looked through when so many of NEAR match: the page is likely to fill.
FAR: Final = 1_000
HOPEFUL: Final = 5
# Of all messages that match, so many of the newest count.
MOST: Final = 20_000
# And of conversations with the rarest word, so many of the newest are looked into for the other words.
MIXED: Final = 1_000
PATIENCE: Final = "1s"
# So that the places which an index finds are kept one by one: from pages as a whole each row is read and parsed anew.
MEMORY: Final = "64MB"
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

    def messages(self, workspace_id: str, *, few: bool = False) -> QuerySet[Item]:
        """Messages and notes with all words. `few`: of few conversations, whose messages are read one by one."""
        rows = Item.objects.filter(workspace_id=workspace_id, kind__in=SPOKEN)
        return rows.alias(words=_words("text", few=few)).filter(words=self._query)

    def runs(self, workspace_id: str, *, few: bool = False) -> QuerySet[ToolRun]:
        """Calls in conversations whose input has all words."""
        rows = ToolRun.objects.filter(workspace_id=workspace_id, conversation__isnull=False)
        return rows.alias(words=_words("input", few=few)).filter(words=self._query)

    def requests(self, workspace_id: str, *, few: bool = False) -> QuerySet[ToolApproval]:
        """The same for requests, of which many never became a call."""
        rows = ToolApproval.objects.filter(workspace_id=workspace_id)
        return rows.alias(words=_words("input", few=few)).filter(words=self._query)

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


def _words(field: str, *, few: bool) -> Words:
    """The field's words; of `few` rows in a form that no index has, as looking a common word up takes longer."""
    return Words(Concat(field, Value(""))) if few else Words(field)


@dataclass(frozen=True, slots=True)
class Found:
    """Conversations, newest first. `gave_up`: only so many of the newest were looked through; 0 if it was all."""

    rows: list[Conversation]
    gave_up: int = 0


def among(rows: QuerySet[Conversation], search: Search, *, workspace_id: str, limit: int) -> Found:
    """Those of a workspace's conversations that match, at most `limit`. A few queries."""
    if not search.words:
        return Found([])
    near, looked_at = _newest(rows, NEAR), NEAR
    found = list(_with_each_word(near, search, workspace_id).order_by(*NEWEST)[:limit])
    if HOPEFUL <= len(found) < limit:
        looked_at = FAR
        found = list(_with_each_word(_newest(rows, FAR), search, workspace_id).order_by(*NEWEST)[:limit])
    if len(found) == limit:
        return Found(found)
    try:
        with _patience():
            ids = _indexed(rows, search, workspace_id, near=near)
            return Found(list(rows.filter(id__in=ids).order_by(*NEWEST)[:limit]))
    except OperationalError:  # it took too long
        return Found(found, gave_up=looked_at)


def _newest(rows: QuerySet[Conversation], count: int) -> QuerySet[Conversation]:
    return rows.filter(id__in=rows.order_by(*NEWEST).values("id")[:count])


def _with_each_word(rows: QuerySet[Conversation], search: Search, workspace_id: str) -> QuerySet[Conversation]:
    """Those of a few conversations in which each word is somewhere."""
    for word in search.apart:
        rows = rows.filter(_has(word, workspace_id))
    return rows


def _has(word: Search, workspace_id: str) -> Q:
    """For a few conversations: the word is somewhere in it."""
    has = Q(Exists(word.customers(workspace_id).filter(id=OuterRef("customer_id"))))
    for rows in _inputs(word.numbers, workspace_id, few=True):
        has |= Q(Exists(rows.filter(conversation_id=OuterRef("pk"))))
    return has | Q(Exists(word.messages(workspace_id, few=True).filter(conversation_id=OuterRef("pk"))))


def _indexed(
    rows: QuerySet[Conversation], search: Search, workspace_id: str, *, near: QuerySet[Conversation]
) -> QuerySet[Any, Any]:
    """Ids of conversations by the indexes: those with the word; for several words, the newest of those with the rarest
    word that have each of the others somewhere, and if that may not be all, those with all words in one place.
    """
    if len(search.words) == 1:
        return _having(search, workspace_id)
    likely = rows.filter(id__in=_having(_rarest(near, search, workspace_id), workspace_id))
    newest = list(likely.order_by((F("last_at") + timedelta()).desc()).values_list("id", flat=True)[:MIXED])
    ids = _with_each_word(Conversation.objects.filter(id__in=newest), search, workspace_id).values("id")
    return ids if len(newest) < MIXED else ids.union(_having(search, workspace_id), all=True)


def _rarest(near: QuerySet[Conversation], search: Search, workspace_id: str) -> Search:
    """The word that the fewest of the newest conversations have."""
    has = {str(number): Count("pk", filter=_has(word, workspace_id)) for number, word in enumerate(search.apart)}
    counts = near.order_by().aggregate(**has)
    return min(enumerate(search.apart), key=lambda each: counts[str(each[0])])[1]


def _having(search: Search, workspace_id: str) -> QuerySet[Any, Any]:
    """Ids of conversations with all words in one message, in the customer, or in one input."""
    # By a sum, so that no plan walks all rows in the order of an index until enough match.
    said = search.messages(workspace_id).order_by((F("id") + 0).desc()).values("conversation_id")[:MOST]
    customers = Conversation.objects.filter(
        workspace_id=workspace_id, customer__in=search.customers(workspace_id)
    ).values("id")
    numbered = _inputs(search, workspace_id) if search.numbers == search else []
    return said.union(customers, *(rows.values("conversation_id")[:MOST] for rows in numbered), all=True)


def _inputs(
    search: Search, workspace_id: str, *, few: bool = False
) -> list[QuerySet[ToolRun] | QuerySet[ToolApproval]]:
    """Calls and requests with all words; none for no words."""
    return [each(workspace_id, few=few) for each in (search.runs, search.requests)] if search.words else []


def passages(found: Sequence[Conversation], search: Search, *, workspace_id: str) -> dict[str, Markup]:
    """What the newest matching message of each conversation says around the words, by the conversation's id; where
    there is none, a call or request whose input has the number.
    """
    if not found or not search.words:
        return {}
    items = search.messages(workspace_id, few=True).filter(conversation__in=found)
    newest = items.order_by("conversation_id", "-number").distinct("conversation_id")
    shown = {item.conversation_id: item.text for item in newest.only("conversation_id", "text")}
    for rows in _inputs(search.numbers, workspace_id, few=True):
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
    """Statements inside may take MEMORY, and end after PATIENCE with an OperationalError."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                "select set_config('statement_timeout', %s, true), set_config('work_mem', %s, true)", [PATIENCE, MEMORY]
            )
        yield
        with connection.cursor() as cursor:
            cursor.execute("set local statement_timeout to default; set local work_mem to default")
