"""Invitations by link: made, shown once, and used once within seven days. Whoever holds the link may join with it."""

import hashlib
import secrets
from datetime import timedelta
from typing import Final

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from median_site.lib import clock
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, Unusable, existing
from team import events, roster
from team.events import Kind
from team.models import Invitation, Role, Teammate, User

GOOD_FOR: Final = timedelta(days=7)


class Used(DomainError):
    code = "invitation_used"
    message = "This invitation was used already, withdrawn, or is older than seven days. Ask for a new one."
    status = 404


class AlreadyInTeam(DomainError):
    code = "already_in_team"
    message = "You are in this workspace already."


def make(*, by: Actor, email: str, role: str) -> tuple[Invitation, str]:
    """An invitation and the token of its link, which cannot be seen again.

    Raises NotAllowed, OwnersOnly, NoSuchRole, Unusable for an address that is none, AlreadyInTeam.
    """
    with transaction.atomic():
        wanted = roster.require_role(roster.lock(by), by=by, role=role)
        return make_unasked(by=by, email=email, role=wanted)


def make_unasked(*, by: Actor, email: str, role: Role) -> tuple[Invitation, str]:
    """The same without asking whether `by` may: for the operator, whose first owner nobody in there could invite."""
    address, token = _email(email), secrets.token_urlsafe(32)
    with transaction.atomic():
        if Teammate.objects.filter(workspace_id=by.workspace_id, removed_at=None, user__email__iexact=address).exists():
            raise AlreadyInTeam(f"{address} is in this workspace already.", field="email")
        row = Invitation.objects.create(
            workspace_id=by.workspace_id, email=address, role=role, digest=_digest(token),
            expires_at=clock.now() + GOOD_FOR,
        )  # fmt: skip
        told = {"email": address, "role": str(role)}
        events.record(Kind.INVITATION_MADE, by=by, subject_id=row.id, data=dict(told))
    return row, token


def listed(workspace_id: str) -> list[Invitation]:
    """Those that can still be used, the newest first."""
    rows = Invitation.objects.filter(workspace_id=workspace_id, accepted_at=None, expires_at__gt=clock.now())
    return list(rows.order_by("-created_at"))


def withdraw(invitation_id: str, *, by: Actor) -> None:
    """Make the link useless. Raises NotFound, NotAllowed, OwnersOnly."""
    with transaction.atomic():
        team = roster.lock(by)
        row = existing(
            Invitation.objects.filter(workspace_id=by.workspace_id, id=invitation_id, accepted_at=None).first()
        )
        roster.require_role(team, by=by, role=row.role)
        row.delete()
        events.record(Kind.INVITATION_WITHDRAWN, by=by, subject_id=invitation_id, data={"email": row.email})


def find(token: str) -> Invitation:
    """The invitation that a link stands for, with its workspace. Raises Used for whatever lets nobody in."""
    rows = Invitation.objects.select_related("workspace")
    row = rows.filter(digest=_digest(token), accepted_at=None, expires_at__gt=clock.now()).first()
    if row is None:
        raise Used
    return row


def has_account(invitation: Invitation) -> bool:
    """Whether the invited address signs in here already: its owner then proves who they are by signing in."""
    return User.objects.filter(email__iexact=invitation.email).exists()


def accept(token: str, *, user: User) -> Teammate:
    """Let a signed-in person in. Raises Used, AlreadyInTeam."""
    with transaction.atomic():
        return _join(_claim(token), user=user)


def accept_new(token: str, *, name: str, password: str) -> Teammate:
    """Make an account for the invited address, and let it in. Raises Used, and Unusable naming the field."""
    shown = roster.name_of(name)
    with transaction.atomic():
        invitation = _claim(token)
        if has_account(invitation):
            raise Unusable(f"{invitation.email} signs in here already. Sign in to join.", field="email")
        try:
            validate_password(password, User(email=invitation.email, name=shown))
        except ValidationError as error:
            raise Unusable(" ".join(error.messages), field="password") from error
        return _join(invitation, user=User.objects.create_user(invitation.email, password, name=shown))


def _claim(token: str) -> Invitation:
    """Use it up: once, whoever else presses. What is raised after this gives it back."""
    invitation = find(token)
    usable = Invitation.objects.filter(id=invitation.id, accepted_at=None, expires_at__gt=clock.now())
    if not usable.update(accepted_at=clock.now()):
        raise Used
    return invitation


def _join(invitation: Invitation, *, user: User) -> Teammate:
    known = Teammate.objects.filter(workspace_id=invitation.workspace_id, user=user).first()
    if known and known.removed_at is None:
        raise AlreadyInTeam
    teammate = known or Teammate(workspace=invitation.workspace, user=user, name=user.name or user.email)
    teammate.role, teammate.removed_at = invitation.role, None
    teammate.save()
    joined = {"role": invitation.role}
    events.record(Kind.TEAMMATE_JOINED, by=teammate.actor, subject_id=teammate.id, data=dict(joined))
    return teammate


def _email(typed: str) -> str:
    address = typed.strip()
    try:
        validate_email(address)
    except ValidationError as error:
        raise Unusable("Write an email address, like kim@example.com.", field="email") from error
    return User.objects.normalize_email(address)


def _digest(token: str) -> str:
    """A plain hash is enough: a token is 256 random bits, not a password."""
    return hashlib.sha256(token.encode()).hexdigest()
