"""Session tokens: what a company's server vouches for about one customer. Minted and read here; stored nowhere."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import jwt

from median_site.lib import canonical_json
from median_site.lib.errors import DomainError
from tools import signing

LIFETIME_S: Final = 30 * 60
LONGEST_LIFETIME: Final = timedelta(days=30)  # of an anonymous visitor's; a signing key is published for longer
LEEWAY_S: Final = 5
MAX_BYTES: Final = 8 * 1024
MAX_SUBJECT: Final = 255

_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # in JSON: the escape of a NUL, not of a backslash before u0000


class SessionTokenError(DomainError):
    """`code` is "expired" or "invalid"; the message says which part is wrong and holds nothing of the token."""

    code = "invalid"
    message = "The session token is not valid."
    status = 401


@dataclass(frozen=True, slots=True)
class SessionToken:
    """What the company's server said about the customer.

    `subject` is its own id for them, or an opaque one when `anonymous`; entitlements are among the `claims`.
    """

    subject: str
    anonymous: bool
    claims: dict[str, object]
    email: str | None
    name: str | None
    expires_at: datetime


def mint(
    key: signing.Key,
    *,
    issuer: str,
    subject: str,
    anonymous: bool,
    claims: Mapping[str, object],
    email: str | None,
    name: str | None,
    now: datetime | int,
    lifetime_s: int = LIFETIME_S,
) -> str:
    """A token for one customer. Raises SessionTokenError, status 422, for what could not be read or stored later."""
    if lifetime_s > LONGEST_LIFETIME.total_seconds():
        raise ValueError("The key may be gone before a token that lives so long.")
    if not 1 <= len(subject) <= MAX_SUBJECT:
        raise _refused("A subject has 1 to 255 characters.", field="subject")
    minted = signing.unix(now)
    payload: dict[str, object] = {
        "iss": issuer,
        "aud": signing.SESSION_AUDIENCE,
        "sub": subject,
        "anon": anonymous,
        "claims": dict(claims),
        "iat": minted,
        "exp": minted + lifetime_s,
    }
    payload |= {part: value for part, value in (("email", email), ("name", name)) if value is not None}
    try:
        written = canonical_json.dumps(payload)
    except canonical_json.CanonicalJsonError as error:
        raise _refused(f"A session token carries plain JSON. {error}") from error
    if _NUL.search(written):
        raise _refused("A session token carries no NUL characters.")
    token = signing.sign(key, claims=payload)
    if len(token) > MAX_BYTES:
        raise _refused("A session token has at most 8 KB.", field="claims")
    return token


def read(
    token: str,
    *,
    public_keys: Mapping[str, Mapping[str, object]],
    issuer: str,
    now: datetime | int,
    leeway_s: int = LEEWAY_S,
) -> SessionToken:
    """What a token says, once it is proved to be this workspace's own. Raises SessionTokenError.

    `public_keys` are the workspace's published JWKs by `kid`. A `kid` that is not among them is refused as it is:
    nothing is fetched, so made-up ones cost nobody anything.
    """
    payload = _verified(token, public_keys=public_keys, issuer=issuer)
    subject, anonymous, claims = payload["sub"], payload.get("anon"), payload.get("claims")
    issued, expires = payload["iat"], payload["exp"]
    if not (isinstance(subject, str) and 1 <= len(subject) <= MAX_SUBJECT):
        raise SessionTokenError("The session token's subject must have 1 to 255 characters.")
    if not (isinstance(anonymous, bool) and isinstance(claims, dict)):
        raise SessionTokenError("The session token is not one that Median minted.")
    if not (isinstance(issued, int) and isinstance(expires, int)):
        raise SessionTokenError("The session token's times must be whole seconds.")
    moment = signing.unix(now)
    if moment >= expires + leeway_s:
        raise SessionTokenError("The session token has expired.", code="expired")
    if issued > moment + leeway_s:
        raise SessionTokenError(f"The session token was minted {issued - moment} seconds from now: a clock is wrong.")
    email, name = _optional(payload, "email"), _optional(payload, "name")
    return SessionToken(subject, anonymous, claims, email, name, expires_at=datetime.fromtimestamp(expires, UTC))


def claimed_issuer(token: str) -> str:
    """Whose token it says it is, unproved: it tells whose keys to read it with. Raises SessionTokenError."""
    _check_shape(token)
    try:
        issuer = jwt.decode(token, options={"verify_signature": False}).get("iss")
    except jwt.InvalidTokenError as error:
        raise SessionTokenError from error
    # Nobody proved it yet, and no database can be asked for a NUL or half a character.
    return issuer if isinstance(issuer, str) and issuer.isascii() and issuer.isprintable() else ""


def _check_shape(token: str) -> None:
    if len(token) > MAX_BYTES or not token.isascii():
        raise SessionTokenError


def _verified(token: str, *, public_keys: Mapping[str, Mapping[str, object]], issuer: str) -> dict[str, object]:
    _check_shape(token)
    try:
        jwk = public_keys.get(jwt.get_unverified_header(token).get("kid", ""))
        if jwk is None:
            raise SessionTokenError("The session token is signed with a key that this workspace does not have.")
        payload: dict[str, object] = jwt.decode(
            token,
            jwt.PyJWK(dict(jwk), signing.ALGORITHM),
            algorithms=[signing.ALGORITHM],
            issuer=issuer,
            audience=signing.SESSION_AUDIENCE,
            # The clock is ours: times are compared with `now`, in `read`.
            options={
                "require": ["exp", "aud", "iss", "sub", "iat"],
                "strict_aud": True,
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
            },
        )
    except jwt.InvalidTokenError as error:
        raise SessionTokenError(f"The session token is not valid: {error}.") from error
    return payload


def _optional(payload: dict[str, object], part: str) -> str | None:
    value = payload.get(part)
    return value if isinstance(value, str) else None


def _refused(message: str, *, field: str | None = None) -> SessionTokenError:
    return SessionTokenError(message, status=422, field=field)
