"""API keys of a company's programs: made, and recognised on a request. Only a hash of a key is kept."""

import hashlib
from collections.abc import Iterable
from typing import Final

from django.db import transaction

from median_site.lib import clock, ids, text
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, Unusable, existing
from team import events
from team.events import Kind
from team.models import ApiKey, Workspace

SCOPES: Final = ("read", "decide", "run", "manage", "sessions")
PREFIX_LENGTH: Final = 12
NAME_LENGTH: Final = 100


class Unauthorized(DomainError):
    code = "unauthorized"
    message = 'Send an API key of this installation: "Authorization: Bearer mdn_…".'
    status = 401


class UnknownKey(Unauthorized):
    message = "This API key is not known here, or it was revoked."


class MissingScope(DomainError):
    code = "missing_scope"
    status = 403


def create(workspace: Workspace, *, name: str, scopes: Iterable[str], plain: str = "") -> tuple[ApiKey, str]:
    """A new key: its row, and the key itself, which cannot be seen again. Raises ValueError for an unknown scope.

    `plain` is for a caller that derives the key from a secret, so that it can tell it again.
    """
    wanted = set(scopes)
    if unknown := wanted - set(SCOPES):
        raise ValueError(f"There is no scope {', '.join(sorted(unknown))}.")
    plain = plain or ids.api_key()
    row = ApiKey.objects.create(
        workspace=workspace, name=name, prefix=plain[:PREFIX_LENGTH], digest=_digest(plain), scopes=sorted(wanted)
    )
    return row, plain


def make(*, by: Actor, name: str, scopes: Iterable[str]) -> tuple[ApiKey, str]:
    """A teammate's new key and the key itself, which cannot be seen again. Raises Unusable."""
    called, wanted = " ".join(text.clean(name)[0].split()), set(scopes)
    if not 1 <= len(called) <= NAME_LENGTH:
        raise Unusable("Write what the key is for, in up to 100 characters.", field="name")
    if not wanted or wanted - set(SCOPES):
        raise Unusable("Choose what the key may do.", field="scopes")
    with transaction.atomic():
        row, plain = create(Workspace.objects.get(id=by.workspace_id), name=called, scopes=wanted)
        told = {"name": row.name, "scopes": " ".join(row.scopes)}
        events.record(Kind.API_KEY_MADE, by=by, subject_id=row.id, data=dict(told))
    return row, plain


def listed(workspace_id: str) -> list[ApiKey]:
    """The keys that open something, the newest first."""
    return list(ApiKey.objects.filter(workspace_id=workspace_id, revoked_at=None).order_by("-created_at"))


def revoke(key_id: str, *, by: Actor) -> None:
    """Make a key open nothing, from its next request on. Raises NotFound."""
    with transaction.atomic():
        row = existing(ApiKey.objects.filter(workspace_id=by.workspace_id, id=key_id).first())
        if ApiKey.objects.filter(id=key_id, revoked_at=None).update(revoked_at=clock.now()):
            events.record(Kind.API_KEY_REVOKED, by=by, subject_id=key_id, data={"name": row.name})


def find(authorization: str) -> ApiKey:
    """The key in the value of an Authorization header, with its workspace. Raises Unauthorized."""
    found = ApiKey.objects.select_related("workspace").filter(digest=digest_in(authorization), revoked_at=None).first()
    if found is None:
        raise UnknownKey
    return found


def digest_in(authorization: str) -> str:
    """What is kept of the key in the value of an Authorization header. Raises Unauthorized where there is none."""
    scheme, _, plain = authorization.partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthorized
    return _digest(plain.strip())


def is_good(key_id: str) -> bool:
    """Whether the key has not been revoked since it was found."""
    return ApiKey.objects.filter(id=key_id, revoked_at=None).exists()


def require_scope(key: ApiKey, scope: str) -> None:
    """Raises MissingScope, naming it."""
    if scope not in key.scopes:
        raise MissingScope(f'This API key lacks the scope "{scope}".')


def _digest(plain: str) -> str:
    """A plain hash is enough: a key is 200 random bits, not a password."""
    return hashlib.sha256(plain.encode()).hexdigest()
