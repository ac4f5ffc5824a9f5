"""Every signature is made here: Standard Webhooks headers, assertions, and (for `session_tokens`) session tokens.

Pure: keys and secrets come in as text; storing, sealing and sending them is elsewhere.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from median_site.lib import canonical_json
from median_site.lib.errors import DomainError

ALGORITHM: Final = "ES256"
ASSERTION_LIFETIME_S: Final = 30
ASSERTION_BACKDATE_S: Final = 5
SYNC_AUDIENCE: Final = "median:sync"
SESSION_AUDIENCE: Final = "median:session"

_PREFIX: Final = "whsec_"
_PUBLIC_MEMBERS: Final = ("kty", "crv", "x", "y", "kid", "use", "alg")


class SecretError(DomainError):
    """A webhook secret that nobody may sign with."""

    code = "invalid_secret"
    message = 'A secret is "whsec_" and 24 to 64 bytes in base64.'
    status = 422


@dataclass(frozen=True, slots=True)
class NewKey:
    """A signing key as it is stored: the private half as PKCS #8 PEM, to be sealed; the public half as a JWK."""

    kid: str
    private_pem: str = field(repr=False)
    public_jwk: dict[str, str]


@dataclass(frozen=True, slots=True)
class Key:
    """A signing key ready for use."""

    kid: str
    private: ec.EllipticCurvePrivateKey = field(repr=False)


@dataclass(frozen=True, slots=True)
class ApprovalClaim:
    """Proof for the endpoint that someone approved exactly this input.

    `input_sha256` is `canonical_json.sha256_hex` of the input that they saw.
    """

    by_kind: str
    by_name: str
    at: datetime
    input_sha256: str


def new_secret() -> str:
    """A webhook secret: "whsec_" and 32 random bytes in base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def parse_secret(secret: str) -> bytes:
    """The bytes to sign with. Raises SecretError for a blank, prefix-only, malformed, short or overlong secret."""
    try:
        decoded = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise SecretError(field="secret") from None
    if not secret.startswith(_PREFIX) or not 24 <= len(decoded) <= 64:
        raise SecretError(field="secret")
    return decoded


def webhook_headers(secrets: Sequence[str], *, call_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Standard Webhooks headers over exactly these bytes, with one signature for each secret in the order given.

    While a secret is being rotated, pass the new one and the former one. `timestamp` is in seconds.
    """
    if not secrets:
        raise SecretError("There is no secret to sign with.")
    signed = f"{call_id}.{timestamp}.".encode() + body
    digests = (hmac.digest(parse_secret(secret), signed, hashlib.sha256) for secret in secrets)
    return {
        "webhook-id": call_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests),
    }


def new_key() -> NewKey:
    """A new ES256 key. Its `kid` is its thumbprint (RFC 7638): the same key has one name everywhere."""
    private = ec.generate_private_key(ec.SECP256R1())
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = {name: str(part) for name, part in ECAlgorithm.to_jwk(private.public_key(), as_dict=True).items()}
    thumbprint = hashlib.sha256(canonical_json.dumps(public)).digest()
    kid = base64.urlsafe_b64encode(thumbprint).rstrip(b"=").decode()
    return NewKey(kid, pem.decode(), {**public, "kid": kid, "use": "sig", "alg": ALGORITHM})


@lru_cache(maxsize=1024)
def load_key(kid: str, pem: str) -> Key:
    """The key of a PEM. Parsing costs more than signing, so parsed keys are kept. Raises ValueError for other keys."""
    private = serialization.load_pem_private_key(pem.encode(), password=None)
    if not isinstance(private, ec.EllipticCurvePrivateKey) or not isinstance(private.curve, ec.SECP256R1):
        raise ValueError(f"The key {kid} is not for {ALGORITHM}.")
    return Key(kid, private)


def assertion(
    key: Key,
    *,
    issuer: str,
    audience: str,
    subject: str | None,
    anonymous: bool,
    call_id: str,
    now: datetime | int,
    turn: str | None = None,
    approval: ApprovalClaim | None = None,
) -> str:
    """The bearer JWT of one call, dead 30 seconds after `now`: mint it when the call leaves, not when it is queued.

    `audience` is the name of the one tool, or SYNC_AUDIENCE. `subject` is None only where there is no customer (a sync,
    a test as nobody): the call's id is then the opaque one, so that verifiers may require `sub`. `iat` lies a few
    seconds back, since a verifier whose clock is slightly behind ours would otherwise refuse it as not yet valid.
    """
    if audience == SESSION_AUDIENCE:
        raise ValueError("An assertion must never pass for a session token.")
    minted = unix(now)
    claims: dict[str, object] = {
        "iss": issuer,
        "aud": audience,
        "sub": call_id if subject is None else subject,
        "anon": anonymous,
        "iat": minted - ASSERTION_BACKDATE_S,
        "exp": minted + ASSERTION_LIFETIME_S,
        "jti": call_id,
    }
    if turn is not None:
        claims["turn"] = turn
    if approval is not None:
        by = {"kind": approval.by_kind, "name": approval.by_name}
        claims["approval"] = {"by": by, "at": unix(approval.at), "input_sha256": approval.input_sha256}
    return sign(key, claims=claims)


def sign(key: Key, *, claims: Mapping[str, object]) -> str:
    """A JWT of the claims as they are. Callers choose an audience that tells their kind of token from every other."""
    return jwt.encode(dict(claims), key.private, algorithm=ALGORITHM, headers={"kid": key.kid})


def unproved_claims(token: str) -> dict[str, object]:
    """What a JWT says, whoever signed it: for showing, never for deciding. Raises jwt.InvalidTokenError."""
    claims: dict[str, object] = jwt.decode(token, options={"verify_signature": False})
    return claims


def jwks(public_jwks: Iterable[Mapping[str, str]]) -> dict[str, list[dict[str, str]]]:
    """The JSON Web Key Set to publish. Only public members leave, whatever was stored."""
    return {"keys": [{name: jwk[name] for name in _PUBLIC_MEMBERS if name in jwk} for jwk in public_jwks]}


def unix(moment: datetime | int) -> int:
    """Whole seconds since 1970, rounded down: verifiers refuse fractions and anything from the future."""
    return int(moment.timestamp()) if isinstance(moment, datetime) else moment
