"""`POST /v1/session-tokens`: a company's server vouches for one of its users, and gets the token that says so."""

from datetime import timedelta
from typing import Final

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from median_site.lib import clock, strict_json
from median_site.lib.errors import DomainError
from median_site.lib.strict_json import Json, JsonError
from team import api_keys
from tools import keys, session_tokens

FIELDS: Final = ("subject", "anonymous", "claims", "email", "name")


class BadRequest(DomainError):
    code = "invalid"
    status = 422


@csrf_exempt  # A key in `Authorization` and no cookie: a foreign page has nothing to ride on.
@require_POST
def create(request: HttpRequest) -> JsonResponse:
    """Body: {"subject", "anonymous": false, "claims": {}, "email": null, "name": null}; only the subject is needed.

    Answers 201 {"token", "expires_at"}. The token is kept nowhere; asking twice gives two that say the same.
    """
    key = api_keys.authenticate(request, "sessions")
    asked = _body(request)
    now = clock.now()
    token = session_tokens.mint(
        keys.current(key.workspace_id),
        issuer=key.workspace.issuer,
        subject=_text(asked, "subject") or "",
        anonymous=_anonymous(asked),
        claims=_claims(asked),
        email=_text(asked, "email"),
        name=_text(asked, "name"),
        now=now,
    )
    expires_at = now.replace(microsecond=0) + timedelta(seconds=session_tokens.LIFETIME_S)
    return JsonResponse({"token": token, "expires_at": expires_at.isoformat()}, status=201)


def _body(request: HttpRequest) -> dict[str, Json]:
    try:
        asked = strict_json.loads(request.body)
    except JsonError as error:
        raise BadRequest(f"The body must be JSON. {error.message}", status=400) from None
    if not isinstance(asked, dict):
        raise BadRequest("The body must be a JSON object.")
    for unknown in asked.keys() - set(FIELDS):
        raise BadRequest(f"{str(unknown)[:50]} is not a field of a session token.", field=str(unknown)[:50])
    return asked


def _text(asked: dict[str, Json], field: str) -> str | None:
    value = asked.get(field)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{field} must be text.", field=field)
    return value


def _anonymous(asked: dict[str, Json]) -> bool:
    value = asked.get("anonymous", False)
    if not isinstance(value, bool):
        raise BadRequest("anonymous must be true or false.", field="anonymous")
    return value


def _claims(asked: dict[str, Json]) -> dict[str, Json]:
    value = asked.get("claims", {})
    if not isinstance(value, dict):
        raise BadRequest("claims must be an object.", field="claims")
    return value
