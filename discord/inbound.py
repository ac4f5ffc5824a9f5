"""Customers' messages out of Discord: noted before they are acknowledged, put into their threads by the agent process.
However often Discord tells of one, it happens once."""

from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from conversations import attachments, customers, threads
from conversations.models import Channel, Customer, Item
from discord import api
from discord.models import DiscordInteraction, DiscordPlace
from discord.payloads import Came
from median_site.lib import claims, clock, live, secrets, text
from median_site.lib.db import in_thread
from team import events
from team.events import Kind
from tools import calls
from tools.client import Answer, Failure, Limit, Outbound

# Longer than it takes to fetch five files. After it the message is due again, in any process.
HELD: Final = timedelta(minutes=2)
ATTEMPTS: Final = 5
KEPT: Final = timedelta(days=1)
# Of one customer.
MOST: Final = 30
WITHIN: Final = timedelta(minutes=10)
NO_TEXT: Final = "(The message has no text.)"
_FILE_LIMIT: Final = Limit(bytes=attachments.SIZE_LIMIT)


def is_theirs(came: Came, *, workspace_id: str) -> bool:
    """Whether the button or form belongs to a thread of the one who used it."""
    return DiscordPlace.objects.filter(
        workspace_id=workspace_id, conversation_id=came.conversation_id, user_id=came.user_id
    ).exists()


def note(came: Came, *, workspace_id: str) -> bool:
    """Keep a message for the agent process; Discord may tell of it more than once. False: there were too many."""
    rows = DiscordInteraction.objects.filter(workspace_id=workspace_id, user_id=came.user_id)
    if rows.filter(came_at__gt=clock.now() - WITHIN).count() >= MOST and not rows.filter(key=came.key).exists():
        return False
    row = DiscordInteraction(
        workspace_id=workspace_id, key=came.key, user_id=came.user_id, user_name=came.user_name, text=came.text,
        files=[list(file) for file in came.files], channel=came.channel, parent=came.parent, due_at=clock.now(),
        sealed_reply=secrets.seal(came.reply) if came.kind == api.COMMAND else "",
    )  # fmt: skip
    DiscordInteraction.objects.bulk_create([row], ignore_conflicts=True)
    live.wake("agent")
    return True


def claim(*, limit: int) -> list[DiscordInteraction]:
    """Take up to `limit` messages that wait, each for one process; of a customer only the first."""
    waiting = DiscordInteraction.objects.filter(due_at__isnull=False, attempts__lt=ATTEMPTS)
    same = {"workspace": OuterRef("workspace"), "user_id": OuterRef("user_id")}
    first = waiting.filter(~Exists(waiting.filter(**same, came_at__lt=OuterRef("came_at"))))
    return claims.take(first, limit=limit, held=HELD)


async def take(came: DiscordInteraction) -> None:
    """Put a claimed message into its thread, with its files. A process that dies leaves it to be taken again."""
    fetched = [
        (name, await calls.client().send(Outbound("GET", url, {}), limit=_FILE_LIMIT)) for name, url in came.files
    ]
    await in_thread(_take, came, fetched)


def forget_old() -> int:
    """Interactions are kept for as long as Discord may repeat them. Gives how many went."""
    return DiscordInteraction.objects.filter(came_at__lt=clock.now() - KEPT).delete()[0]


def _take(came: DiscordInteraction, fetched: list[tuple[str, Answer | Failure]]) -> None:
    customer = customers.known(
        came.workspace_id, subject=f"discord:{came.user_id}", verified=False, name=came.user_name
    )
    files, refused = _stored(fetched, customer=customer)
    with transaction.atomic():
        if not DiscordInteraction.objects.select_for_update().filter(id=came.id, due_at__isnull=False).exists():
            return
        nothing = "" if files else NO_TEXT
        body = nothing if text.is_blank(came.text) else came.text
        item = threads.from_customer(
            customer, channel=Channel.DISCORD, body=body, client_id=f"discord:{came.key}", files=files
        )
        _place(came, item)
        DiscordInteraction.objects.filter(id=came.id).update(due_at=None, item=item, text="", files=[])
        if refused:
            events.record(
                Kind.DISCORD_FILES_LEFT, by=customer.actor, conversation_id=item.conversation_id,
                data={"why": " ".join(refused)[:500]},
            )  # fmt: skip


def _stored(fetched: list[tuple[str, Answer | Failure]], *, customer: Customer) -> tuple[list[str], list[str]]:
    """The ids of the files, and why some could not be kept: that is no reason to lose a message."""
    ids, refused = [], []
    for name, came in fetched:
        if isinstance(came, Failure) or came.status != 200:
            too_big = isinstance(came, Failure) and came.kind == "too_big"
            refused.append(f"“{name}” {'is too large' if too_big else 'could not be fetched from Discord'}.")
            continue
        try:
            ids.append(attachments.store(None, name=name, data=came.body, by=customer.actor).id)
        except attachments.FileRefused as error:
            refused.append(error.message)
    return ids, refused


def _place(came: DiscordInteraction, item: Item) -> None:
    """Where the conversation goes on: where it has so far; else in the thread it was written in; else in a new one."""
    own = DiscordPlace.objects.filter(conversation_id=item.conversation_id)
    if own.exclude(channel="").exists():
        return
    former = DiscordPlace.objects.filter(workspace_id=came.workspace_id, user_id=came.user_id, channel=came.channel)
    held = former.order_by("-conversation__created_at").first()
    is_there = held is not None or not came.parent
    DiscordPlace.objects.update_or_create(
        conversation_id=item.conversation_id,
        defaults={
            "workspace_id": came.workspace_id, "user_id": came.user_id, "parent": came.parent,
            "channel": came.channel if is_there else "", "joined": is_there,
        },
    )  # fmt: skip
