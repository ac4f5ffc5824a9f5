"""`POST /v1/session-tokens`: a company's server vouches for one of its users, and gets the token that says so."""

from datetime import timedelta
from typing import Annotated

from ninja import Router, Status
from pydantic import Field, StrictBool

from median_site.api import answers, gate, shapes
from median_site.api.gate import KeyRequest
from median_site.api.inputs import AnyObject, Body, Name, Storable
from median_site.lib import clock
from tools import keys, session_tokens

router = Router()


class NewToken(Body):
    subject: Name = Field(min_length=1, max_length=255, description="Your own id of the customer.")
    anonymous: StrictBool = False
    claims: AnyObject = Field(default_factory=dict, description="Entitlements that tools may require.")
    email: Annotated[str, Field(max_length=254), Storable] | None = None
    name: Annotated[str, Field(max_length=150), Storable] | None = None


@router.post("", auth=gate.Scope("sessions"), summary="A token for one of your users", response={201: dict})
def create(request: KeyRequest, payload: NewToken) -> Status[answers.SessionToken]:
    """The token is kept nowhere and lives 30 minutes; asking twice gives two that say the same."""
    now = clock.now()
    token = session_tokens.mint(
        keys.current(request.key.workspace_id),
        issuer=request.key.workspace.issuer,
        subject=payload.subject,
        anonymous=payload.anonymous,
        claims=payload.claims,
        email=payload.email,
        name=payload.name,
        now=now,
    )
    expires_at = now.replace(microsecond=0) + timedelta(seconds=session_tokens.LIFETIME_S)
    return Status(201, {"token": token, "expires_at": shapes.at(expires_at)})
