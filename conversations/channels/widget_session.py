"""Who writes in the widget: from the session token that a page brings to a customer and their conversation.

A widget has no cookie and no account. The token, signed by the workspace's own key, is all it has; a company's server
asks for one that names its user, everybody else gets an anonymous one from here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.db import transaction
from django.db.models import Q

from conversations import attachments, customers, threads, widget_limits
from conversations.models import Attachment, Channel, Conversation, Customer, Item
from conversations.widget_limits import Limit
from median_site.lib import actors, clock, ids
from median_site.lib.errors import DomainError, existing
from team import events
from team.events import Kind
from team.models import Workspace
from tools import keys, session_tokens
from tools.session_tokens import SessionToken, SessionTokenError


class SessionExpired(DomainError):
    code = "session_expired"
    message = "Your sign-in has run out. Reload the page to go on; what you typed is still here."
    status = 401


class SessionInvalid(DomainError):
    code = "session_invalid"
    message = "This chat could not be opened: the sign-in it came with is not valid. Reload the page to try again."
    status = 401


@dataclass(frozen=True, slots=True)
class Session:
    """A token that was proved to be the workspace's own."""

    workspace: Workspace
    said: SessionToken

    @property
    def person(self) -> str:
        """Whoever holds a token, told apart from everybody else of the workspace."""
        return Customer(subject=self.said.subject, verified=not self.said.anonymous).person


def open_session(token: str, *, slug: str = "") -> Session:
    """Verify a token. With a slug it must be that workspace's. Raises NotFound, SessionExpired, SessionInvalid."""
    workspace = workspace_of(slug) if slug else _issuing(token)
    published = {jwk["kid"]: jwk for jwk in keys.published(workspace.id)}
    try:
        said = session_tokens.read(token, public_keys=published, issuer=workspace.issuer, now=clock.now())
    except SessionTokenError as error:
        if error.code == "expired":
            raise SessionExpired from None
        _log_refused(workspace, error)
        raise SessionInvalid from None
    return Session(workspace, said)


def workspace_of(slug: str) -> Workspace:
    return existing(Workspace.objects.filter(slug=slug).first())


def anonymous_token(workspace: Workspace, *, address: str) -> str:
    """A token for somebody whom nobody vouches for: a random subject, which is only theirs by holding it.

    Raises TooFast.
    """
    widget_limits.count(widget_limits.TOKENS, workspace_id=workspace.id, address=address)
    return session_tokens.mint(
        keys.current(workspace.id),
        issuer=workspace.issuer,
        subject=ids.new_id(),
        anonymous=True,
        claims={},
        email=None,
        name=None,
        now=clock.now(),
        lifetime_s=int(session_tokens.LONGEST_LIFETIME.total_seconds()),
    )


def known_customer(session: Session) -> Customer | None:
    """The customer of a session, if they ever wrote: reading must not write."""
    rows = Customer.objects.filter(workspace=session.workspace)
    return rows.filter(verified=not session.said.anonymous, subject=session.said.subject).first()


def conversation_of(customer: Customer) -> Conversation | None:
    """The conversation that the widget shows: the customer's newest one on this channel."""
    rows = Conversation.objects.filter(workspace_id=customer.workspace_id, customer=customer, channel=Channel.WIDGET)
    return rows.select_related("workspace", "assignee").order_by("-created_at").first()


def newest(workspace_id: str, *, person: str) -> Conversation | None:
    """The same, of whoever a token stands for (`Customer.person`)."""
    kind, _, subject = person.partition(":")
    rows = Customer.objects.filter(workspace_id=workspace_id, verified=kind == "verified", subject=subject)
    customer = rows.first()
    return conversation_of(customer) if customer else None


def attach(session: Session, *, name: str, data: bytes, address: str) -> Attachment:
    """Take in a file that the customer is about to send. Raises TooFast, and what attachments.store raises."""
    _count(widget_limits.FILES, session, address=address)
    with transaction.atomic():
        customer = _written_down(session)
    return attachments.store(None, name=name, data=data, by=customer.actor)


def write(session: Session, *, body: str, client_id: str, address: str, files: Sequence[str] = ()) -> Item:
    """Send the customer's message. `client_id` is the page's own id of it: the same one again changes nothing.

    Raises TooFast, and what threads.from_customer raises.
    """
    _count(widget_limits.MESSAGES, session, address=address)
    with transaction.atomic():
        customer = _written_down(session)
        item = threads.from_customer(customer, channel=Channel.WIDGET, body=body, client_id=client_id, files=files)
        _remember(item.conversation_id, session.said)
    return item


def _count(limit: Limit, session: Session, *, address: str) -> None:
    said = session.said
    widget_limits.count(
        limit, workspace_id=session.workspace.id, address=address, session=session.person, is_known=not said.anonymous
    )


def _written_down(session: Session) -> Customer:
    said = session.said
    return customers.known(
        session.workspace.id,
        subject=said.subject,
        verified=not said.anonymous,
        name=said.name or "",
        email=said.email or "",
    )


def _remember(conversation_id: str, said: SessionToken) -> None:
    """Keep the claims of the newest token seen: entitlements follow the customer's last sign-in."""
    older = Q(claims_expire_at=None) | Q(claims_expire_at__lt=said.expires_at)
    Conversation.objects.filter(older, id=conversation_id).update(claims=said.claims, claims_expire_at=said.expires_at)


def _issuing(token: str) -> Workspace:
    """The workspace that a token says it is from; that it tells the truth is checked with that workspace's keys."""
    try:
        issuer = session_tokens.claimed_issuer(token)
    except SessionTokenError:
        raise SessionInvalid from None
    found = Workspace.objects.filter(slug=issuer.rpartition("/")[2]).first()
    if found is None or found.issuer != issuer:
        raise SessionInvalid
    return found


def _log_refused(workspace: Workspace, error: SessionTokenError) -> None:
    """At most one a minute and workspace reaches the log: whoever sends made-up tokens must not fill it."""
    if cache.add(f"session-refused:{workspace.id}", True, timeout=60):
        with transaction.atomic():
            events.record(Kind.SESSION_REFUSED, by=actors.system(workspace.id), data={"reason": error.message})
