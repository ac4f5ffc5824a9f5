"""Idempotency keys: the same POST sent again gets the first one's answer, and is not done again."""

import hashlib
from datetime import timedelta
from typing import Final

from django.db import connection

from median_site.lib import clock, secrets
from median_site.lib.errors import DomainError
from team.models import ApiAnswer, ApiKey

KEPT_FOR: Final = timedelta(hours=24)
KEY_LENGTH: Final = 255


class KeyReused(DomainError):
    code = "idempotency_key_reused"
    message = "This Idempotency-Key came with another request before. Use a new key for a new request."


class NotDoneYet(DomainError):
    code = "in_progress"
    message = (
        "The first request with this Idempotency-Key has no answer: it is under way, or was cut off. See what it did"
        " before you use a new key."
    )


class BadKey(DomainError):
    code = "invalid"
    message = "An Idempotency-Key has 1 to 255 characters."
    status = 400


def begin(key: ApiKey, *, header: str, method: str, path: str, body: bytes) -> ApiAnswer:
    """The row of this key: new and without a status when the request is to be done, else with the answer to repeat.

    Raises KeyReused for another request under the same key, NotDoneYet while the first is under way or was cut off.
    """
    if not 1 <= len(header) <= KEY_LENGTH:
        raise BadKey(field="Idempotency-Key")
    fingerprint = hashlib.sha256(f"{method} {path}\n".encode() + body).hexdigest()
    fresh_since = clock.now() - KEPT_FOR
    ApiAnswer.objects.filter(api_key=key, key=header, created_at__lt=fresh_since).delete()
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into team_apianswer (workspace_id, api_key_id, key, fingerprint, body, created_at)"
            " values (%s, %s, %s, %s, '', %s) on conflict (workspace_id, api_key_id, key) do nothing",
            [key.workspace_id, key.id, header, fingerprint, clock.now()],
        )
        is_new = cursor.rowcount == 1
    found = ApiAnswer.objects.get(workspace_id=key.workspace_id, api_key=key, key=header)
    if found.fingerprint != fingerprint:
        raise KeyReused
    if found.status is None and not is_new:
        raise NotDoneYet
    found.body = secrets.unseal(found.body) if found.body else ""
    return found


def finish(row: ApiAnswer, *, status: int, body: str) -> None:
    """Keep the answer, sealed: a secret that is shown once may stand in it.

    One that our own side could not give is not kept: the request may be sent again.
    """
    if status >= 500 or status == 429:
        row.delete()
        return
    ApiAnswer.objects.filter(pk=row.pk).update(status=status, body=secrets.seal(body))


def sweep() -> int:
    """Forget answers older than a day. Gives how many."""
    return ApiAnswer.objects.filter(created_at__lt=clock.now() - KEPT_FOR).delete()[0]
