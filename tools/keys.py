"""The signing keys of a workspace: made, kept sealed, unsealed and published. What they sign is in tools.signing."""

from functools import lru_cache
from typing import cast

from django.db import transaction
from django.db.models import Q

from median_site.lib import clock, secrets
from team.models import SigningKey, Workspace
from tools import signing


def current(workspace_id: str) -> signing.Key:
    """The key that signs now; the workspace's first one is made when it is first needed."""
    row = _newest(workspace_id) or ensure(workspace_id)
    return _unsealed(row.kid, row.sealed_private_key)


def ensure(workspace_id: str) -> SigningKey:
    """The newest key of the workspace, made if there is none. Raises Workspace.DoesNotExist."""
    with transaction.atomic():
        Workspace.objects.select_for_update().get(id=workspace_id)
        row = _newest(workspace_id)
        if row is None:
            new = signing.new_key()
            row = SigningKey.objects.create(
                workspace_id=workspace_id,
                kid=new.kid,
                sealed_private_key=secrets.seal(new.private_pem),
                public_jwk=new.public_jwk,
            )
    return row


def published(workspace_id: str) -> list[dict[str, str]]:
    """The public JWKs that verify, newest first: those of keys that have not retired."""
    rows = SigningKey.objects.filter(Q(retires_at=None) | Q(retires_at__gt=clock.now()), workspace_id=workspace_id)
    return [cast(dict[str, str], row.public_jwk) for row in rows.order_by("-created_at")]


def _newest(workspace_id: str) -> SigningKey | None:
    return SigningKey.objects.filter(workspace_id=workspace_id, retires_at=None).order_by("-created_at").first()


@lru_cache(maxsize=1024)
def _unsealed(kid: str, sealed: str) -> signing.Key:
    """Unsealing and parsing cost more than signing: done once a key and process."""
    return signing.load_key(kid, secrets.unseal(sealed))
