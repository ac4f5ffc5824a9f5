"""Where a mail belongs: the thread that it answers, if its sender is that thread's customer. Reads only."""

from dataclasses import dataclass

from conversations.models import Channel, Conversation
from mail import addresses
from mail.models import EmailChannel, EmailMessage
from mail.parsing import Incoming


@dataclass(frozen=True, slots=True)
class Route:
    """`into` is the sender's own thread, none for a new one. `claimed` are threads it named and may not write into."""

    into: Conversation | None
    claimed: tuple[Conversation, ...] = ()


def route(mail: Incoming, *, channel: EmailChannel) -> Route:
    """A signed address says where a mail belongs; without one the ids it answers do, if they all lead to one thread.

    Whoever is not the customer of a thread never lands in it, whatever the mail says: that begins another one.
    """
    found = _signed(mail, channel=channel) or _answered(mail, channel=channel)
    own = [each for each in found if mail.sender and each.customer.email.lower() == mail.sender]
    into = own[0] if len(own) == 1 and len(found) == 1 else None
    return Route(into, tuple(each for each in found if each is not into))


def _signed(mail: Incoming, *, channel: EmailChannel) -> list[Conversation]:
    named = (addresses.conversation_of(each, address=channel.address) for each in mail.recipients)
    return _found([each for each in named if each], channel=channel)


def _answered(mail: Incoming, *, channel: EmailChannel) -> list[Conversation]:
    if not mail.references:
        return []
    rows = EmailMessage.objects.filter(workspace_id=channel.workspace_id, message_id__in=mail.references)
    ids = rows.exclude(conversation=None).values_list("conversation_id", flat=True).distinct()
    return _found([id for id in ids if id], channel=channel)


def _found(ids: list[str], *, channel: EmailChannel) -> list[Conversation]:
    rows = Conversation.objects.filter(workspace_id=channel.workspace_id, channel=Channel.EMAIL, id__in=ids)
    return list(rows.select_related("customer").order_by("id"))
