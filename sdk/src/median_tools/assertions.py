"""The JWT assertion that a call carries: an ES256 token by the workspace's key. Needs the extra `jwt`."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from median_tools.calls import Call
from median_tools.canonical import input_sha256
from median_tools.headers import Headers, one, unauthorized
from median_tools.keys import IssuerKeys, Keys

LEEWAY = 10  # seconds that the two clocks may differ
MAX_LIFE = 300  # seconds; Median's assertions live 30

Claims = Mapping[str, Any]  # claims are whatever the issuer put there; the ones used are checked where they are used


@dataclass(frozen=True)
class Assertions:
    """Verifies assertions of one issuer, the workspace's URL."""

    issuer: str
    keys: Keys

    def verify(self, headers: Headers, *, audience: str) -> tuple[Claims, float]:
        """The claims, and until when (Unix seconds) the token would verify.

        Raises ToolError 401, or 503 when the issuer's keys cannot be had.
        """
        scheme, _, token = one(headers, "authorization").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise unauthorized("authorization is not a bearer token.")
        # The parser raises more than its own errors on hostile headers, and all of them mean the same here.
        try:
            claims = self._claims(token, audience=audience)
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise unauthorized(f"authorization: {str(error).rstrip('.')}.") from None
        for name, kind in (("aud", str), ("exp", int | float)):  # which the parser lets be lists and texts
            if not isinstance(claims[name], kind):
                raise unauthorized(f"authorization: {name} is of the wrong type.")
        if claims["exp"] - time.time() > MAX_LIFE:
            raise unauthorized("authorization: exp is too far away.")
        return claims, claims["exp"] + LEEWAY

    def verify_call(self, headers: Headers, call: Call, body: bytes) -> float:
        """Until when the token of this call would verify. Raises as `verify`.

        The token does not sign the body, so it must name the same call and the same customer; and where a person
        approved the call, the input that they saw.
        """
        claims, until = self.verify(headers, audience=call.tool)
        if claims["jti"] != call.context.tool_call_id:
            raise unauthorized("authorization: jti is not the call's id.")
        visitor = call.context.visitor
        if visitor.verified and (claims.get("anon") is True or claims.get("sub") != visitor.external_id):
            raise unauthorized("authorization: sub is not the verified visitor.")
        approval = claims.get("approval")
        seen = approval.get("input_sha256") if isinstance(approval, dict) else ""
        if approval is not None and seen != input_sha256(body):
            raise unauthorized("authorization: approval is for another input.")
        return until

    def _claims(self, token: str, *, audience: str) -> Claims:
        kid = jwt.get_unverified_header(token).get("kid")
        key = self.keys.find(kid) if isinstance(kid, str) else None
        if key is None:
            raise unauthorized("authorization: kid is not a key of the issuer.")
        claims: Claims = jwt.decode(
            token,
            key,
            algorithms=["ES256"],
            audience=audience,
            issuer=self.issuer,
            leeway=LEEWAY,
            options={"require": ["exp", "iat", "iss", "aud", "jti"]},
        )
        return claims

    def for_tests(self) -> "tuple[Assertions, TestKey]":
        """The same checks, with a key made here in place of the issuer's."""
        key = TestKey(self.issuer)
        return replace(self, keys=key), key


def of_issuer(issuer: str) -> Assertions:
    """Verifies what the issuer signs with the keys that it publishes. Raises ValueError when it is no http(s) URL."""
    if not issuer.startswith(("https://", "http://")):
        raise ValueError("issuer must be the workspace's URL, https://…")
    return Assertions(issuer, IssuerKeys(issuer))


class TestKey:
    """A key pair that lives in this process alone: it finds itself, and signs as the issuer would."""

    __test__ = False  # not a test case, whatever its name makes pytest think

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._private = ec.generate_private_key(ec.SECP256R1())
        public = jwt.algorithms.ECAlgorithm.to_jwk(self._private.public_key(), as_dict=True)
        self._public = jwt.PyJWK({**public, "kid": "test", "alg": "ES256"})

    def find(self, kid: str) -> jwt.PyJWK | None:
        return self._public if kid == "test" else None

    def sign(self, *, audience: str, subject: str | None, call_id: str) -> Headers:
        """The header of an assertion about this call; without a subject, of someone who is not signed in."""
        now = int(time.time())
        claims = {
            "iss": self._issuer,
            "aud": audience,
            "anon": subject is None,
            "iat": now,
            "exp": now + 30,
            "jti": call_id,
        }
        if subject is not None:
            claims["sub"] = subject
        token = jwt.encode(claims, self._private, algorithm="ES256", headers={"kid": "test"})
        return (("authorization", f"Bearer {token}"),)
