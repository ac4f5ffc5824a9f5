"""What resolved conversations taught about their customers: kept for the agent, shown to the team, gone on a word."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from django.db import transaction

from conversations.models import Conversation, Lesson
from median_site.lib import text
from median_site.lib.actors import Actor
from median_site.lib.errors import existing
from team import events
from team.events import Kind

LIMIT: Final = 200
# The newest that the agent and the team are shown.
SHOWN: Final = 20
EARLIER: Final = 10


def about(customer_id: str) -> Sequence[Lesson]:
    """What is known about a customer, newest first."""
    rows = Lesson.objects.filter(customer_id=customer_id).select_related("conversation")
    return list(rows.order_by("-created_at", "id")[:SHOWN])


def about_each(customer_ids: Collection[str]) -> dict[str, list[Lesson]]:
    """The same for many, by customer, in one statement; each has few."""
    known: dict[str, list[Lesson]] = defaultdict(list)
    for lesson in Lesson.objects.filter(customer__in=customer_ids).order_by("-created_at", "id"):
        known[lesson.customer_id].append(lesson)
    return {customer_id: lessons[:SHOWN] for customer_id, lessons in known.items()}


def conversations_of(conversation: Conversation) -> Sequence[Conversation]:
    """The customer's newest other conversations, each with its `lessons`; this one too once it has taught something.

    Two statements.
    """
    rows = Conversation.objects.filter(workspace_id=conversation.workspace_id, customer_id=conversation.customer_id)
    newest = rows.prefetch_related("lessons").order_by("-last_at", "-id")[: EARLIER + 1]
    return [row for row in newest if row.id != conversation.id or row.lessons.all()][:EARLIER]


def keep(conversation: Conversation, facts: Iterable[str]) -> None:
    """Keep facts that a conversation taught, each on one line; what is known already is kept once."""
    lines = [text.excerpt(text.clean(fact)[0], LIMIT) for fact in facts]
    known = {"workspace_id": conversation.workspace_id, "customer_id": conversation.customer_id}
    rows = [Lesson(**known, conversation=conversation, text=line) for line in dict.fromkeys(filter(None, lines))]
    Lesson.objects.bulk_create(rows, ignore_conflicts=True)


def forget(lesson_id: str, *, by: Actor) -> Lesson:
    """Delete one for good. Raises NotFound for absent and foreign ones alike."""
    with transaction.atomic():
        lesson = existing(Lesson.objects.select_for_update().filter(workspace_id=by.workspace_id, id=lesson_id).first())
        events.record(Kind.LESSON_FORGOTTEN, by=by, conversation_id=lesson.conversation_id, subject_id=lesson_id)
        Lesson.objects.filter(id=lesson_id).delete()
    return lesson
