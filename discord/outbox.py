"""What is to be posted in Discord: the row of an item is the queue. Made from the log's events, claimed, recorded.

At least once, the items of a thread in their order; Discord takes a message that is sent again within minutes for the
same one.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from conversations import threads
from conversations.models import SAID, Item, ItemKind
from discord import channels, wording
from discord.models import DiscordChannel, DiscordInteraction, DiscordPlace, DiscordPost, PostState
from median_site.lib import actors, claims, clock
from team import events
from team.events import Kind
from team.models import Event
from webhooks import outcomes
from webhooks.told import Told

# Longer than all messages of one item take. After it the item is due again, in any process.
HELD: Final = timedelta(minutes=3)
_SAYS: Final = {Kind.CUSTOMER_WROTE, Kind.AGENT_REPLIED, Kind.TEAMMATE_REPLIED, *wording.TOLD}


def queue(linked: Iterable[Event], *, workspace_id: str) -> None:
    """Post what these newly linked events left in threads, in the caller's transaction; again changes nothing."""
    said = {event.conversation_id for event in linked if event.kind in _SAYS and event.conversation_id}
    held = DiscordPlace.objects.filter(workspace_id=workspace_id, conversation_id__in=said)
    places = list(held.values_list("conversation_id", flat=True)) if said else []
    if not places:
        return
    channel = channels.of(workspace_id)
    items = Item.objects.filter(
        Q(kind__in=SAID) | Q(kind=ItemKind.LINE, ref__in=wording.TOLD),
        **({"created_at__gte": channel.created_at} if channel else {}),
        workspace_id=workspace_id,
        conversation__in=places,
    )
    new = items.exclude(Exists(DiscordPost.objects.filter(item=OuterRef("pk"))))
    rows = [
        DiscordPost(workspace_id=workspace_id, conversation_id=held, item_id=id, due_at=clock.now())
        for id, held in new.order_by("id").values_list("id", "conversation_id")
    ]
    DiscordPost.objects.bulk_create(rows, ignore_conflicts=True)


def claim(*, limit: int) -> list[DiscordPost]:
    """Take up to `limit` items that are due, each for one process; of a thread only the first that waits."""
    now = clock.now()
    waiting = DiscordPost.objects.filter(state=PostState.WAITING)
    earlier = waiting.filter(conversation=OuterRef("conversation"), item__lt=OuterRef("item"))
    channel = DiscordChannel.objects.filter(workspace=OuterRef("workspace"))
    takes_none = channel.filter(~Q(off="") | Q(quiet_until__gt=now))  # what was removed says so at the attempt
    due = waiting.filter(~Exists(earlier), ~Exists(takes_none))
    due = due.select_related("conversation__workspace", "conversation__customer", "item")
    return claims.take(due, limit=limit, held=HELD, claimed_at=now)


def posted(post: DiscordPost) -> None:
    """All of it is there. That counts whoever posted it."""
    waiting = DiscordPost.objects.filter(id=post.id, state=PostState.WAITING)
    waiting.update(state=PostState.POSTED, due_at=None, claimed_at=None, reason="")


def advance(post: DiscordPost, told: Told) -> bool:
    """One more message of it is there. False: the rest waits for as long as Discord asked."""
    post.done += 1
    _ours(post).update(done=post.done, attempts=1)
    return not paused(post, told)


def paused(post: DiscordPost, told: Told) -> bool:
    """Whether Discord asked for a pause; then what is left is due after it. That was no failure."""
    if not told.wait:
        return False
    until = clock.now() + told.wait
    if told.everywhere:
        DiscordChannel.objects.filter(workspace_id=post.workspace_id).update(quiet_until=until)
    _ours(post).update(due_at=until, claimed_at=None, attempts=F("attempts") - 1, reason=told.error)
    return True


def failed(post: DiscordPost, told: Told) -> bool:
    """An attempt failed: there is another one later, for about a day. What Discord refuses for good is given up: the
    thread says so, and turns unread. Whether it was."""
    if told.verdict == "off" and told.everywhere:
        channel = channels.of(post.workspace_id)
        _ours(post).update(due_at=clock.now(), claimed_at=None, attempts=F("attempts") - 1, reason=told.error)
        if channel:
            channels.stop(channel, why=told.error)
        return False
    pause = outcomes.pause(post.attempts, wait=told.wait) if told.verdict in {"broken", "limited"} else None
    if pause is not None:
        _ours(post).update(due_at=clock.now() + pause, claimed_at=None, reason=told.error[:200])
        return False
    give_up(post, why=told.error)
    return True


def give_up(post: DiscordPost, *, why: str) -> None:
    """It will never be there."""
    post.state, post.reason = PostState.FAILED, why[:200]
    with transaction.atomic():
        locked = threads.lock(post.conversation_id)
        if _ours(post).update(state=PostState.FAILED, due_at=None, claimed_at=None, reason=why[:200]):
            events.record(
                Kind.DISCORD_FAILED, by=actors.system(post.workspace_id), conversation_id=locked.id,
                subject_id=post.id, data={"of": post.item.author_name or "Median", "why": why[:200]},
            )  # fmt: skip


def answered(interaction: DiscordInteraction) -> None:
    """Discord waits for no answer to it any more."""
    DiscordInteraction.objects.filter(id=interaction.id).update(sealed_reply="")


def _ours(post: DiscordPost) -> QuerySet[DiscordPost]:
    return DiscordPost.objects.filter(id=post.id, state=PostState.WAITING, claimed_at=post.claimed_at)
