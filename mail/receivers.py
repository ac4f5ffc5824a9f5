"""What this app does when something below it happens, or when a mail service hands in a mail."""

from email import encoders, policy
from typing import Final

from anymail.inbound import AnymailInboundMessage
from anymail.signals import AnymailInboundEvent, AnymailTrackingEvent, EventType
from anymail.signals import inbound as service_received
from anymail.signals import tracking as service_told
from django.dispatch import receiver

from mail import channels, delivery, inbound, outbox, parsing
from mail.models import EmailChannel
from team.models import Event
from team.signals import events_linked, workspace_closed

# To fold a header anew Python parses it, and breaks on odd ones.
_UNFOLDED: Final = policy.default.clone(refold_source="none", utf8=True)


@receiver(workspace_closed, dispatch_uid="mail.workspace_closed")
def close_channel(workspace_id: str, **_: object) -> None:
    """Nothing comes in or leaves any more; the secrets go too."""
    EmailChannel.objects.filter(workspace_id=workspace_id).delete()


@receiver(events_linked, dispatch_uid="mail.events_linked")
def send_replies(workspace_id: str, events: list[Event], **_: object) -> None:
    """Each event is linked once, in one transaction with the mails it asks for: none is missed and none made twice."""
    outbox.queue(events, workspace_id=workspace_id)


@receiver(service_received, dispatch_uid="mail.service_received")
def take_from_service(event: AnymailInboundEvent, **_: object) -> None:
    """The workspaces are those that the mail was sent to. What is for nobody here is forgotten: trying again would not
    help. An error is the service's to hear, so that it tries again."""
    raw = _as_it_came(event.message)
    is_cut = len(raw) > parsing.SIZE_LIMIT
    raw = raw[: inbound.BEGINNING] if is_cut else raw
    for channel, recipient in channels.receiving(event.message.envelope_recipient, parsing.parse(raw).recipients):
        inbound.take(raw, channel=channel, recipient=recipient, is_cut=is_cut)


@receiver(service_told, dispatch_uid="mail.service_told")
def hear_of_delivery(event: AnymailTrackingEvent, **_: object) -> None:
    """A reply bounced, was refused, or was called spam. What is only late, opened or clicked is nothing to us."""
    complained = event.event_type == EventType.COMPLAINED
    if complained or event.event_type in {EventType.BOUNCED, EventType.REJECTED, EventType.FAILED}:
        why = event.mta_response or event.description or event.reject_reason or ""
        delivery.told_by_service(event.message_id or "", why=str(why), complained=complained)


def _as_it_came(message: AnymailInboundMessage) -> bytes:
    """The raw mail. Files that a service handed in apart are encoded first: written as lines they would be others."""
    for part in message.walk():
        if not part.is_multipart() and "Content-Transfer-Encoding" not in part:
            encoders.encode_base64(part)
    raw: bytes = message.as_bytes(policy=_UNFOLDED)
    return raw
