"""The signing keys of a workspace: made, rotated, kept sealed and published. What they sign is in tools.signing.

A new key is published at once and signs ten minutes later, when no verifier's copy of the published keys can be older.
The one before it stays published until the last token that it signed is dead.
"""

from datetime import timedelta
from functools import lru_cache
from typing import Final, cast

from django.db import transaction
from django.db.models import Q, QuerySet

from median_site.lib import clock, secrets
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError
from team import events
from team.events import Kind
from team.models import SigningKey
from tools import roster, session_tokens, signing

PUBLISHED_AHEAD: Final = timedelta(minutes=10)  # twice what the published keys may be cached for
PUBLISHED_AFTER: Final = session_tokens.LONGEST_LIFETIME + timedelta(days=1)


class RotatingAlready(DomainError):
    code = "rotating_already"
    message = "A new key takes over in a few minutes already."


# The same key in a statement that has the workspace; `unsealed` makes one of what it gives.
CURRENT: Final = """
    select kid, sealed_private_key from team_signingkey
     where workspace_id = workspace.id and signs_from <= clock_timestamp()
       and (retires_at is null or retires_at > clock_timestamp())
     order by signs_from desc limit 1
"""


def current(workspace_id: str) -> signing.Key:
    """The key that signs now; the workspace's first one is made when it is first needed."""
    signing_now = _unretired(workspace_id).filter(signs_from__lte=clock.now())
    row = signing_now.order_by("-signs_from").first() or ensure(workspace_id)
    return unsealed(row.kid, row.sealed_private_key)


def ensure(workspace_id: str) -> SigningKey:
    """The newest key of the workspace, made if there is none. Raises Workspace.DoesNotExist."""
    with transaction.atomic():
        roster.lock(workspace_id)
        newest = SigningKey.objects.filter(workspace_id=workspace_id, retires_at=None).order_by("-created_at").first()
        return newest or _make(workspace_id, signs_in=timedelta())


def rotate(*, by: Actor) -> SigningKey:
    """Publish a new key that takes over in ten minutes. Raises RotatingAlready while one is about to."""
    with transaction.atomic():
        roster.lock(by.workspace_id)
        if _unretired(by.workspace_id).filter(signs_from__gt=clock.now()).exists():
            raise RotatingAlready
        made = _make(by.workspace_id, signs_in=PUBLISHED_AHEAD)
        older = SigningKey.objects.filter(workspace_id=by.workspace_id, retires_at=None).exclude(id=made.id)
        older.update(retires_at=made.signs_from + PUBLISHED_AFTER)
        events.record(Kind.SIGNING_KEY_ROTATED, by=by, subject_id=made.id, data={"kid": made.kid})
    return made


def listed(workspace_id: str) -> list[SigningKey]:
    """The keys that verify, newest first."""
    return list(_unretired(workspace_id).order_by("-created_at"))


def forget_retired() -> int:
    """Erase the keys that verify nothing more. Gives how many."""
    return SigningKey.objects.filter(retires_at__lte=clock.now()).delete()[0]


def published(workspace_id: str) -> list[dict[str, str]]:
    """The public JWKs that verify, newest first: those of keys that have not retired."""
    return [cast(dict[str, str], row.public_jwk) for row in listed(workspace_id)]


def _unretired(workspace_id: str) -> QuerySet[SigningKey]:
    return SigningKey.objects.filter(Q(retires_at=None) | Q(retires_at__gt=clock.now()), workspace_id=workspace_id)


def _make(workspace_id: str, *, signs_in: timedelta) -> SigningKey:
    new = signing.new_key()
    return SigningKey.objects.create(
        workspace_id=workspace_id,
        kid=new.kid,
        sealed_private_key=secrets.seal(new.private_pem),
        public_jwk=new.public_jwk,
        signs_from=clock.now() + signs_in,
    )


@lru_cache(maxsize=1024)
def unsealed(kid: str, sealed: str) -> signing.Key:
    """Unsealing and parsing cost more than signing: done once a key and process."""
    return signing.load_key(kid, secrets.unseal(sealed))
