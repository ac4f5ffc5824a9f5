"""Signatures, verified by programs that are not ours: standardwebhooks for the HMAC, joserfc and PyJWT for the rest."""

import base64
import hashlib
import json
from datetime import UTC, datetime

import jwt
import pytest
import time_machine
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc import jwk as jose_jwk
from joserfc import jwt as jose_jwt
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from median_site.lib import canonical_json
from tools import signing
from tools.signing import ApprovalClaim, SecretError

ISSUER = "https://median.example/w/acme"
CALL = "call_9f2c41d07b3e4a6f8c1d2e3f4a5b6c7d"
NOW = 1_772_366_400
MOMENT = datetime.fromtimestamp(NOW + 0.999, UTC)
BODY = '{"name":"Zoë / 東京","n":1.0,"b":"</script>","z":1,"a":2}'.encode()

NEW_KEY = signing.new_key()
KEY = signing.load_key(NEW_KEY.kid, NEW_KEY.private_pem)


def claims_of(token: str) -> dict[str, object]:
    """What an endpoint with joserfc and the published key set reads."""
    key_set = jose_jwk.KeySet.import_key_set(signing.jwks([signing.new_key().public_jwk, NEW_KEY.public_jwk]))
    decoded = jose_jwt.decode(token, key_set, algorithms=["ES256"])
    assert decoded.header == {"alg": "ES256", "kid": NEW_KEY.kid, "typ": "JWT"}
    return decoded.claims


def mint(**changes: object) -> str:
    arguments = {
        "issuer": ISSUER,
        "audience": "refundOrder",
        "subject": "user_123",
        "anonymous": False,
        "call_id": CALL,
        "now": MOMENT,
    }
    return signing.assertion(KEY, **(arguments | changes))


def verify(secret: str, headers: dict[str, str], *, body: bytes = BODY, at: int = NOW) -> None:
    with time_machine.travel(at, tick=False):
        Webhook(secret).verify(body, headers)


def test_webhook_headers_verify_over_exactly_the_bytes() -> None:
    secret = signing.new_secret()
    headers = signing.webhook_headers([secret], call_id=CALL, timestamp=NOW, body=BODY)
    assert list(headers) == ["webhook-id", "webhook-timestamp", "webhook-signature"]
    assert headers["webhook-id"] == CALL
    assert headers["webhook-timestamp"] == str(NOW)
    verify(secret, headers)
    verify(secret, headers, at=NOW + 299)
    for changed in ({"body": BODY + b" "}, {"at": NOW + 301}, {"at": NOW - 301}):
        with pytest.raises(WebhookVerificationError):
            verify(secret, headers, **changed)
    with pytest.raises(WebhookVerificationError):
        verify(secret, headers | {"webhook-id": "call_other"})


def test_webhook_signature_of_the_standard() -> None:
    """The example of the Standard Webhooks libraries."""
    headers = signing.webhook_headers(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        call_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1_614_265_330,
        body=b'{"test": 2432232314}',
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_during_a_rotation_both_secrets_verify_and_a_third_does_not() -> None:
    new, old = signing.new_secret(), signing.new_secret()
    headers = signing.webhook_headers([new, old], call_id=CALL, timestamp=NOW, body=BODY)
    assert [part[:3] for part in headers["webhook-signature"].split(" ")] == ["v1,", "v1,"]
    verify(new, headers)
    verify(old, headers)
    with pytest.raises(WebhookVerificationError):
        verify(signing.new_secret(), headers)

    after = signing.webhook_headers([new], call_id=CALL, timestamp=NOW, body=BODY)
    with pytest.raises(WebhookVerificationError):
        verify(old, after)


def test_a_new_secret_is_32_random_bytes() -> None:
    made = {signing.new_secret() for _ in range(100)}
    assert len(made) == 100
    for secret in made:
        assert secret.startswith("whsec_")
        assert len(signing.parse_secret(secret)) == 32


@pytest.mark.parametrize(
    "secret",
    [
        "",
        " ",
        "whsec_",
        "whsec_ ",
        "whsec_AAAA",
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        "whsec_" + "ä" * 32,
        "whsec_" + "A" * 33,
        "whsec_" + "-_" * 16,
        "WHSEC_" + "A" * 32,
        "A" * 32,
    ],
)
def test_a_secret_that_nobody_may_sign_with(secret: str) -> None:
    for use in (
        lambda: signing.parse_secret(secret),
        lambda: signing.webhook_headers([signing.new_secret(), secret], call_id=CALL, timestamp=NOW, body=b""),
    ):
        with pytest.raises(SecretError) as refusal:
            use()
        assert (refusal.value.code, refusal.value.status, refusal.value.field) == ("invalid_secret", 422, "secret")
        assert refusal.value.message == 'A secret is "whsec_" and 24 to 64 bytes in base64.'


def test_nothing_leaves_without_a_secret() -> None:
    with pytest.raises(SecretError, match="There is no secret to sign with."):
        signing.webhook_headers([], call_id=CALL, timestamp=NOW, body=b"")


def test_a_new_key_is_named_by_its_thumbprint_and_hides_its_private_half() -> None:
    coordinates = {name: NEW_KEY.public_jwk[name] for name in ("x", "y")}
    fixed = {"kty": "EC", "crv": "P-256", "kid": NEW_KEY.kid, "use": "sig", "alg": "ES256"}
    assert NEW_KEY.public_jwk == coordinates | fixed
    assert jose_jwk.ECKey.import_key(NEW_KEY.public_jwk).thumbprint() == NEW_KEY.kid
    assert "PRIVATE" not in repr(NEW_KEY)
    assert "private" not in repr(KEY).lower()


def test_a_key_is_parsed_once() -> None:
    assert signing.load_key(NEW_KEY.kid, NEW_KEY.private_pem) is KEY


@pytest.mark.parametrize(
    "private",
    [ec.generate_private_key(ec.SECP384R1()), rsa.generate_private_key(public_exponent=65537, key_size=2048)],
    ids=["P-384", "RSA"],
)
def test_only_es256_keys_load(private: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    with pytest.raises(ValueError, match="The key k1 is not for ES256."):
        signing.load_key("k1", pem)


def test_an_assertion_of_a_turn() -> None:
    assert claims_of(mint(turn="9c1f")) == {
        "iss": ISSUER,
        "aud": "refundOrder",
        "sub": "user_123",
        "anon": False,
        "turn": "9c1f",
        "iat": NOW - 5,
        "exp": NOW + 30,
        "jti": CALL,
    }


def test_an_assertion_of_a_sync_has_an_opaque_subject_and_no_turn() -> None:
    assert claims_of(mint(audience=signing.SYNC_AUDIENCE, subject=None, anonymous=True, now=NOW)) == {
        "iss": ISSUER,
        "aud": "median:sync",
        "sub": CALL,
        "anon": True,
        "iat": NOW - 5,
        "exp": NOW + 30,
        "jti": CALL,
    }


def test_an_approved_call_proves_who_approved_which_input() -> None:
    seen = {"reason": "damaged", "orderNumber": "ORD-1042"}
    approval = ApprovalClaim("teammate", "Sam Okafor", at=MOMENT, input_sha256=canonical_json.sha256_hex(seen))
    assert claims_of(mint(approval=approval))["approval"] == {
        "by": {"kind": "teammate", "name": "Sam Okafor"},
        "at": NOW,
        "input_sha256": hashlib.sha256(b'{"orderNumber":"ORD-1042","reason":"damaged"}').hexdigest(),
    }


@pytest.mark.parametrize("ours_ahead_s", [2, -2, 0])
def test_a_clock_that_is_two_seconds_off_needs_no_leeway(ours_ahead_s: int) -> None:
    token = mint(now=NOW + ours_ahead_s)
    public = jwt.PyJWK(NEW_KEY.public_jwk)
    with time_machine.travel(NOW, tick=False):
        decoded = jwt.decode(token, public, algorithms=["ES256"], audience="refundOrder", issuer=ISSUER, leeway=0)
    assert decoded["jti"] == CALL


def test_an_assertion_dies_after_thirty_seconds() -> None:
    token, public = mint(), jwt.PyJWK(NEW_KEY.public_jwk)
    with time_machine.travel(NOW + 29, tick=False):
        jwt.decode(token, public, algorithms=["ES256"], audience="refundOrder")
    with time_machine.travel(NOW + 30, tick=False), pytest.raises(jwt.ExpiredSignatureError):
        jwt.decode(token, public, algorithms=["ES256"], audience="refundOrder")


def test_an_assertion_is_for_its_one_tool() -> None:
    with time_machine.travel(NOW, tick=False), pytest.raises(jwt.InvalidAudienceError):
        jwt.decode(mint(), jwt.PyJWK(NEW_KEY.public_jwk), algorithms=["ES256"], audience="cancelOrder")


def test_an_assertion_cannot_be_minted_as_a_session_token() -> None:
    with pytest.raises(ValueError, match="must never pass for a session token"):
        mint(audience=signing.SESSION_AUDIENCE)


def test_the_key_set_publishes_public_members_only() -> None:
    private = jose_jwk.ECKey.import_key(NEW_KEY.private_pem).as_dict(private=True)
    assert "d" in private
    published = signing.jwks([NEW_KEY.public_jwk, {**private, "kid": "leaky", "note": "x"}])
    assert published["keys"][0] == NEW_KEY.public_jwk
    assert published["keys"][1].keys() == {"kty", "crv", "x", "y", "kid"}
    assert private["d"] not in json.dumps(published)
    assert signing.jwks([]) == {"keys": []}
