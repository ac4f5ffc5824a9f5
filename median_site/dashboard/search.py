"""Finding conversations by what was said in them, who wrote, and which orders tools were called with. Reads only.

What is common fills the page from the newest conversations, at once or with a second look at more of them; what is rare
is looked up in the indexes. A look-up that takes longer than PATIENCE is given up, and conversations are looked through
instead. An answer that ends before the last conversation says where, and the next one goes on from there.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.contrib.postgres.expressions import ArraySubquery
from django.contrib.postgres.search import SearchQuery
from django.db import OperationalError, connection, transaction
from django.db.models import BooleanField, Count, Exists, F, Func, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat
from markupsafe import Markup, escape

from approvals.models import ToolApproval
from conversations.models import SPOKEN, Conversation, Customer, Item
from conversations.words import Names, Words
from median_site.dashboard.keyset import Place
from median_site.lib import clock, text
from tools import values
from tools.models import ToolRun

LONGEST: Final = 100
WORDS: Final = 8
NEAR: Final = 200
# So many more are looked through when so many of NEAR match: the page is likely to fill.
FAR: Final = 800
HOPEFUL: Final = 5
# Of conversations that an index leads to, so many are looked into for the rest; the first ones alone often fill a page.
MIXED: Final = 1_000
FIRST: Final = 100
PATIENCE: Final = timedelta(seconds=1)
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

    @property
    def is_plain(self) -> bool:
        """One word in one piece: what an index leads to has it."""
        return sum(len(_PIECE.findall(word)) for word in self.words) == 1

    def messages(self, workspace_id: str, *, few: bool = False, by_any: bool = False) -> QuerySet[Item]:
        """Messages and notes with all words, or any. `few`: of few conversations, whose messages are read one by one.
        Else those with the pieces of the words, in any order: whether they follow each other stands in no index.
        """
        rows = Item.objects.filter(workspace_id=workspace_id, kind__in=SPOKEN)
        return rows.alias(words=_words("text", few=few)).filter(words=self._query(in_order=few, by_any=by_any))

    def runs(self, workspace_id: str, *, few: bool = False) -> QuerySet[ToolRun]:
        """Calls in conversations whose input has all words."""
        rows = ToolRun.objects.filter(workspace_id=workspace_id, conversation__isnull=False)
        return rows.alias(words=_words("input", few=few)).filter(words=self._query(in_order=few))

    def requests(self, workspace_id: str, *, few: bool = False) -> QuerySet[ToolApproval]:
        """The same for requests, of which many never became a call."""
        rows = ToolApproval.objects.filter(workspace_id=workspace_id)
        return rows.alias(words=_words("input", few=few)).filter(words=self._query(in_order=few))

    def customers(self, workspace_id: str) -> QuerySet[Customer]:
        """Customers whose name, email and subject hold all words; one of two letters only begins a name."""
        rows = Customer.objects.filter(workspace_id=workspace_id).alias(names=Names("name", "email", "subject"))
        held = [Q(names__contains=word.lower() if len(word) > 2 else f" {word.lower()}") for word in self.words]
        return rows.filter(*held)

    def _query(self, *, in_order: bool, by_any: bool = False) -> SearchQuery:
        """All words or any, each perhaps the beginning of a longer one."""
        pieces = [_PIECE.findall(word) for word in self.words]
        quoted = [(" <-> " if in_order else " & ").join(f"'{piece}'" for piece in each) + ":*" for each in pieces]
        return SearchQuery((" | " if by_any else " & ").join(quoted), config="simple", search_type="raw")


def _words(field: str, *, few: bool) -> Words:
    """The field's words; of `few` rows in a form that no index has, as looking a common word up takes longer."""
    return Words(Concat(field, Value(""))) if few else Words(field)


@dataclass(frozen=True, slots=True)
class Found:
    """Conversations, newest first. Those that match and are newer than `stopped` are all here, or as many as were asked
    for; older ones were not looked at. None: there are no older ones, or nobody asked for more."""

    rows: list[Conversation]
    stopped: Place | None = None


def among(
    rows: QuerySet[Conversation], search: Search, *, workspace_id: str, limit: int, only: Q | None = None
) -> Found:
    """Those of a workspace's conversations that match, at most `limit`. `only` says what else must be true of them and
    stands in no index. A few queries.
    """
    if not search.words:
        return Found([])
    look = _Look(rows, search, workspace_id, limit=limit, only=only or Q())
    look.through(NEAR)
    if not look.is_over and len(look.found) >= HOPEFUL:
        look.through(FAR)
    if look.is_over:
        return Found(look.found)
    try:
        with _patience():
            return look.up()
    except OperationalError:  # it took too long
        until = clock.now() + PATIENCE
        look.through(FAR)
        while not look.is_over and clock.now() < until:
            look.through(FAR)
    return Found(look.found, None if look.is_over else look.place)


class _Look:
    """A look at conversations in their order: what was found up to which place, and whether that is all one needs."""

    def __init__(self, rows: QuerySet[Conversation], search: Search, workspace_id: str, *, limit: int, only: Q) -> None:
        self.rows, self.search, self.workspace_id, self.limit, self.only = rows, search, workspace_id, limit, only
        self.found: list[Conversation] = []
        self.place: Place | None = None
        self.is_over = False

    @property
    def _left(self) -> QuerySet[Conversation]:
        return self.rows.filter(self.place.older("last_at")) if self.place else self.rows

    def through(self, count: int) -> None:
        """Look through the next so many."""
        rows = self._left
        matching = _with_each_word(_newest(rows, count).filter(self.only), self.search, self.workspace_id)
        self.found += matching.order_by(*NEWEST)[: self.limit - len(self.found)]
        self.place = None if len(self.found) == self.limit else last_of(rows, count)
        self.is_over = self.place is None

    def up(self) -> Found:
        """Look the rest up in the indexes: conversations with the word, or with the rarest of several. Unless that is
        all there is to know of them, the next MIXED are looked into. Changes nothing, so that it can be given up."""
        rows, found = self._left.filter(self.only), list(self.found)
        word = self.search if len(self.search.words) == 1 else self._rarest()
        # By a sum, so that no plan walks all rows in the order of an index until enough match.
        newest = ((F("last_at") + timedelta()).desc(), "-id")
        likely = rows.filter(_among(_having(word, self.workspace_id))).order_by(*newest)
        if self.search.is_plain:
            return Found(found + list(likely[: self.limit - len(found)]))
        places = [Place(*each) for each in likely.values_list("last_at", "id")[: MIXED + 1]]
        ids = [place.id for place in places[:MIXED]]
        for some in (ids[:FIRST], ids[FIRST:]):
            matching = _with_each_word(self.rows.filter(id__in=some), self.search, self.workspace_id).order_by(*NEWEST)
            found += matching[: self.limit - len(found)]
            if len(found) == self.limit:
                return Found(found)
        return Found(found, places[MIXED - 1] if len(places) > MIXED else None)

    def _rarest(self) -> Search:
        """The word that the fewest of the newest conversations have."""
        words = self.search.apart
        has = {str(number): Count("pk", filter=_has(word, self.workspace_id)) for number, word in enumerate(words)}
        counts = _newest(self.rows, NEAR).order_by().aggregate(**has)
        return min(enumerate(words), key=lambda each: counts[str(each[0])])[1]


def last_of(rows: QuerySet[Conversation], count: int) -> Place | None:
    """The last of so many of the newest; None when there are no more than that."""
    ends = rows.order_by(*NEWEST).values_list("last_at", "id")[count - 1 : count + 1]
    return Place(*ends[0]) if len(ends) == 2 else None


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


def _having(word: Search, workspace_id: str) -> QuerySet[Any, Any]:
    """By the indexes, ids of conversations with the word somewhere; a word of several pieces has them in any order."""
    said = word.messages(workspace_id).values("conversation_id")
    named = Conversation.objects.filter(workspace_id=workspace_id, customer__in=word.customers(workspace_id))
    numbered = _inputs(word.numbers, workspace_id)
    return said.union(named.values("id"), *(rows.values("conversation_id") for rows in numbered), all=True)


def _among(ids: QuerySet[Any, Any]) -> Func:
    """The row is one of these, looked up once: a plan that expects few rows would do it again for each."""
    is_any = {"template": "%(expressions)s)", "arg_joiner": " = any("}
    return Func(F("id"), ArraySubquery(ids), output_field=BooleanField(), **is_any)


def _inputs(
    search: Search, workspace_id: str, *, few: bool = False
) -> list[QuerySet[ToolRun] | QuerySet[ToolApproval]]:
    """Calls and requests with all words; none for no words."""
    return [each(workspace_id, few=few) for each in (search.runs, search.requests)] if search.words else []


def passages(found: Sequence[Conversation], search: Search, *, workspace_id: str) -> dict[str, tuple[Markup, str]]:
    """What the newest message with all words says around them, and its element's id, by the conversation's; where there
    is none, a call or request whose input has the number, else the newest message with one of the words.
    """
    if not found or not search.words:
        return {}
    shown: dict[str, tuple[str, str]] = {}

    def show_newest(items: QuerySet[Item]) -> None:
        newest = (
            items.filter(conversation__in=left()).order_by("conversation_id", "-number").distinct("conversation_id")
        )
        told = newest.only("conversation_id", "number", "kind", "text")
        shown.update((item.conversation_id, (item.text, item.element_id)) for item in told)

    def left() -> list[Conversation]:
        return [each for each in found if each.id not in shown]

    show_newest(search.messages(workspace_id, few=True))
    for rows in _inputs(search.numbers, workspace_id, few=True):
        for row in rows.filter(conversation__in=left()):
            said = f"{row.tool_label}: {values.rows_of(row.input).one_line or row.input}"
            shown[str(row.conversation_id)] = said, row.id
    if len(search.words) > 1:
        show_newest(search.messages(workspace_id, few=True, by_any=True))
    return {id: (marked(" ".join(said.split()), search, from_first=True), at) for id, (said, at) in shown.items()}


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
                "select set_config('statement_timeout', %s, true), set_config('work_mem', %s, true)",
                [f"{PATIENCE // timedelta(milliseconds=1)}ms", MEMORY],
            )
        yield
        with connection.cursor() as cursor:
            cursor.execute("set local statement_timeout to default; set local work_mem to default")
