"""What happens in a thread. Every change takes the conversation's lock, moves its version, and is pushed at commit."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, cast

from django.db import connection, transaction

from conversations import access, attachments, bulk, mentions, reading, returning, signals, writing
from conversations.models import SAID, Channel, Conversation, Customer, Handler, Item, ItemKind, Status
from median_site.lib import clock, live, text
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind

# A customer who writes after these begins a new conversation.
OVER: Final = (Status.CLOSED, Status.ARCHIVED)


class Archived(DomainError):
    code = "archived"
    message = "Move this conversation out of the archive first."


class NotOpen(DomainError):
    code = "not_open"
    message = "This conversation is not open. Reopen it first."


def lock(conversation_id: str, *, by: Actor | None = None) -> Conversation:
    """The conversation, locked until the transaction ends. It comes first in the order of locks everywhere.

    It keeps nobody from writing rows that only point at the conversation, such as a mark of how far was read.
    """
    rows = Conversation.objects.select_for_update(of=("self",), no_key=True)
    rows = rows.select_related("workspace", "customer", "assignee")
    if by is not None:
        access.conversation(by, conversation_id)
    return rows.get(id=conversation_id)


def add(
    conversation: Conversation,
    *,
    kind: ItemKind,
    body: str = "",
    by: Actor | None = None,
    ref: str = "",
    model: str = "",
    unread: bool = False,
    files: Sequence[str] = (),
    files_by: Actor | None = None,
    quoted: str = "",
) -> Item:
    """Put one item at the end of a locked conversation's thread. `unread` makes it unread for every teammate.

    `files`: ids of attachments that `files_by`, else `by`, has not sent yet. Raises TooManyFiles, FileGone.
    """
    body, replaced = text.clean(body)
    uploader = files_by or by
    sent = attachments.unsent(conversation, files, by=uploader) if files and uploader else []
    at = clock.now()
    number = _advance(conversation, at=at, excerpt=writing.excerpt(body, sent) if kind in SAID else None, unread=unread)
    item = Item.objects.create(
        workspace_id=conversation.workspace_id,
        conversation=conversation,
        number=number,
        version=number,
        kind=kind,
        text=body,
        quoted=quoted,
        replaced=replaced,
        author_id=by.id if by else "",
        author_name=by.name if by else "",
        ref=ref,
        model=model,
        files=[file.as_json() for file in sent],
        created_at=at,
    )
    attachments.put_on(item)
    return item


def touch(conversation: Conversation, *, kind: ItemKind, ref: str) -> None:
    """A card of a locked conversation changed: everybody who looks at it gets it again."""
    version = _advance(conversation)
    Item.objects.filter(conversation=conversation, kind=kind, ref=ref).update(version=version)


def mark_undelivered(conversation: Conversation, item_id: int, *, why: str) -> None:
    """A message of a locked conversation did not reach the customer, as this sentence says; "" takes that back."""
    version = _advance(conversation)
    Item.objects.filter(conversation=conversation, id=item_id).update(version=version, undelivered=why[:250])


def start(customer: Customer, *, channel: Channel = Channel.WIDGET) -> Conversation:
    """A new conversation, which the agent has."""
    with transaction.atomic():
        conversation = Conversation.objects.create(
            workspace_id=customer.workspace_id, customer=customer, channel=channel, last_at=clock.now()
        )
        events.record(Kind.CONVERSATION_STARTED, by=customer.actor, conversation_id=conversation.id)
        live.changed("customer", workspace_id=customer.workspace_id, id=customer.person)
        signals.conversation_started.send(sender=Conversation, conversation=conversation)
    return conversation


def from_customer(
    customer: Customer, *, channel: Channel, body: str, client_id: str, files: Sequence[str] = ()
) -> Item:
    """The customer wrote: into their newest conversation on this channel, or a new one when that is closed or archived.

    `client_id` is the sender's own id of the message: sent again it gives the item already there, and nothing happens
    twice. `files`: ids of attachments the customer has not sent yet. Raises EmptyText, TextTooLong, TooManyFiles,
    FileGone.
    """
    writing.check(body, files=files)
    with transaction.atomic():
        Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
        newest = customer.conversations.filter(channel=channel).order_by("-created_at").first()
        newest = newest and lock(newest.id)  # so that nobody closes it meanwhile
        if newest and (repeated := newest.sent(client_id, kind=ItemKind.CUSTOMER)):
            return repeated
        if newest is None or newest.status in OVER:
            newest = start(customer, channel=channel)
        return customer_wrote(newest.id, body=body, client_id=client_id, files=files)


def customer_wrote(
    conversation_id: str, *, body: str, client_id: str, files: Sequence[str] = (), files_by: Actor | None = None,
    quoted: str = "",
) -> Item:  # fmt: skip
    """Add the customer's message; a resolved conversation opens again, and the agent gets a turn if it has it.

    As `from_customer`; `files_by` brought the files, if not the customer; `quoted` is what a mail repeats of earlier
    ones. Raises NotOpen for one that is closed or archived, too.
    """
    writing.check(body, files=files)
    with transaction.atomic():
        conversation = lock(conversation_id)
        if repeated := conversation.sent(client_id, kind=ItemKind.CUSTOMER):
            return repeated
        if conversation.status in OVER:
            raise NotOpen
        customer = conversation.customer.actor
        if conversation.snoozed_until:
            conversation.snoozed_until = None
            conversation.save(update_fields=["snoozed_until"])
        if conversation.status == Status.RESOLVED:
            _set_status(conversation, Status.OPEN, kind=Kind.REOPENED, by=customer)
        item = add(
            conversation, kind=ItemKind.CUSTOMER, body=body, by=customer, ref=client_id,
            unread=not conversation.agent_has_it, files=files, files_by=files_by, quoted=quoted,
        )  # fmt: skip
        events.record(Kind.CUSTOMER_WROTE, by=customer, conversation_id=conversation.id)
        signals.customer_wrote.send(sender=Conversation, conversation=conversation)
    return item


def agent_replied(conversation: Conversation, *, body: str, ref: str, model: str = "") -> None:
    """The agent's answer, in a locked conversation. See bulk.Reply."""
    bulk.agents_replied([bulk.Reply(conversation.id, agent_actor(conversation), body=body, ref=ref, model=model)])


def reply(conversation_id: str, *, by: Actor, body: str, files: Sequence[str] = (), client_id: str = "") -> Item:
    """A teammate's answer to the customer. It takes the thread over from the agent. `client_id` is the sender's own id
    of it, or "": sent again it gives the item already there, and nothing happens. Raises NotOpen."""
    writing.check(body, files=files)
    with transaction.atomic():
        conversation = lock(conversation_id, by=by)
        if repeated := conversation.sent(client_id, kind=ItemKind.TEAM):
            return repeated
        if not conversation.is_open:
            raise Archived if conversation.status == Status.ARCHIVED else NotOpen
        if conversation.agent_has_it:
            _take(conversation, by=by)
        if conversation.mark == "failed":
            Conversation.objects.filter(id=conversation.id).update(mark="", mark_label="")
        item = add(conversation, kind=ItemKind.TEAM, body=body, by=by, files=files, ref=client_id)
        events.record(Kind.TEAMMATE_REPLIED, by=by, conversation_id=conversation.id)
        reading.record(conversation, by=by, number=item.number)
    return item


def note(conversation_id: str, *, by: Actor, body: str, files: Sequence[str] = (), client_id: str = "") -> Item:
    """A teammates-only message. It takes nothing over and reopens nothing. `client_id` as for `reply`."""
    writing.check(body, files=files)
    with transaction.atomic():
        conversation = lock(conversation_id, by=by)
        if repeated := conversation.sent(client_id, kind=ItemKind.NOTE):
            return repeated
        item = add(conversation, kind=ItemKind.NOTE, body=body, by=by, files=files, ref=client_id)
        mentions.tell(item, by=by)
        events.record(Kind.NOTE_LEFT, by=by, conversation_id=conversation.id)
    return item


def take_over(conversation_id: str, *, by: Actor) -> Conversation:
    """Make `by` the handler; the agent's running turn stops before its next step. Again changes nothing."""
    with transaction.atomic():
        conversation = lock(conversation_id, by=by)
        if conversation.status == Status.ARCHIVED:
            raise Archived
        if conversation.assignee_id != by.id or conversation.agent_has_it:
            _take(conversation, by=by)
    return conversation


def hand_over(conversation_id: str, *, by: Actor) -> Conversation:
    """Take the thread from the agent for the team, without saying who: unread for everybody. Again changes nothing."""
    with transaction.atomic():
        conversation = lock(conversation_id, by=by)
        if not conversation.is_open:
            raise NotOpen
        if conversation.agent_has_it:
            conversation.handler, conversation.assignee = Handler.NOBODY, None
            conversation.save(update_fields=["handler", "assignee"])
            events.record(Kind.HANDED_OVER, by=by, conversation_id=conversation.id)
            signals.taken_over.send(sender=Conversation, conversation=conversation)
    return conversation


def hand_back(conversation_id: str, *, by: Actor) -> Conversation:
    """Give the thread to the agent again. Again changes nothing. Raises NotOpen."""
    with transaction.atomic():
        conversation = lock(conversation_id, by=by)
        if not conversation.is_open:
            raise NotOpen
        if not conversation.agent_has_it:
            conversation.handler, conversation.assignee = Handler.AGENT, None
            conversation.save(update_fields=["handler", "assignee"])
            events.record(Kind.HANDED_BACK, by=by, conversation_id=conversation.id)
            signals.handed_back.send(sender=Conversation, conversation=conversation)
    return conversation


def end(conversation_id: str, *, by: Actor, to: Status) -> Conversation:
    """Resolve, close or archive; requests that wait in it expire in the same transaction. Again changes nothing."""
    kinds = {Status.RESOLVED: Kind.RESOLVED, Status.CLOSED: Kind.CLOSED, Status.ARCHIVED: Kind.ARCHIVED}
    with transaction.atomic():
        conversation = lock(conversation_id, by=by)
        if conversation.status != to:
            _set_status(conversation, to, kind=kinds[to], by=by)
            signals.conversation_ended.send(sender=Conversation, conversation=conversation)
    return conversation


def reopen(conversation_id: str, *, by: Actor) -> Conversation:
    """Open an ended conversation again: what expired stays so, an agent that has it goes on. Again changes nothing."""
    with transaction.atomic():
        conversation = lock(conversation_id, by=by)
        if not conversation.is_open:
            _set_status(conversation, Status.OPEN, kind=Kind.REOPENED, by=by)
            signals.handed_back.send(sender=Conversation, conversation=conversation)
    return conversation


def _take(conversation: Conversation, *, by: Actor) -> None:
    former = conversation.assignee.actor.short_name if conversation.assignee else ""
    data: dict[str, Json] = {} if conversation.agent_has_it else {"from": former}
    conversation.handler, conversation.assignee_id = Handler.TEAMMATE, by.id
    conversation.save(update_fields=["handler", "assignee"])
    events.record(Kind.TAKEN_OVER, by=by, conversation_id=conversation.id, data=data)
    signals.taken_over.send(sender=Conversation, conversation=conversation)


def _set_status(conversation: Conversation, status: Status, *, kind: Kind, by: Actor) -> None:
    conversation.status, conversation.snoozed_until = status, None
    conversation.save(update_fields=["status", "snoozed_until"])
    events.record(kind, by=by, conversation_id=conversation.id)
    if status == Status.OPEN:
        returning.give_up_again(conversation, by=by)


def _advance(
    conversation: Conversation, *, at: datetime | None = None, excerpt: str | None = None, unread: bool = False
) -> int:
    """Move the version by one in the database, and give it. The row is locked; its copies in memory may be behind."""
    sets = ["version = version + 1"]
    values: list[str | datetime | None] = []
    if unread:
        sets += ["attention = version + 1", "snoozed_until = null"]
    if excerpt is not None:
        sets += ["excerpt = %s", "last_at = %s"]
        values += [excerpt, at]
    with connection.cursor() as cursor:
        cursor.execute(
            f"update conversations_conversation set {', '.join(sets)} where id = %s returning version",  # noqa: S608  # names in the code
            [*values, conversation.id],
        )
        conversation.version = cast(int, cursor.fetchone()[0])
    live.changed("thread", workspace_id=conversation.workspace_id, id=conversation.id, version=conversation.version)
    return conversation.version


def agent_actor(conversation: Conversation) -> Actor:
    """The agent of this conversation's workspace, by its display name."""
    return Actor(ActorKind.AGENT, conversation.workspace_id, name=conversation.workspace.agent_name)
