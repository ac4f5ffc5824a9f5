"""Session tokens: what is minted is read, and nothing else is, whoever signed it and however."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives import serialization
from joserfc import jwk as jose_jwk
from joserfc import jwt as jose_jwt

from tools import session_tokens, signing
from tools.session_tokens import SessionToken, SessionTokenError

ISSUER = "https://median.example/w/acme"
NOW = 1_772_366_400
NEW_KEY = signing.new_key()
KEY = signing.load_key(NEW_KEY.kid, NEW_KEY.private_pem)
OTHER_KEY = signing.new_key()
PUBLIC_KEYS = {OTHER_KEY.kid: OTHER_KEY.public_jwk, NEW_KEY.kid: NEW_KEY.public_jwk}
GOOD: dict[str, object] = {
    "iss": ISSUER,
    "aud": "median:session",
    "sub": "user_123",
    "anon": False,
    "claims": {"plan": "pro", "seats": 3},
    "email": "ana@example.com",
    "name": "Ana",
    "iat": NOW,
    "exp": NOW + 1800,
}


def mint(**changes: object) -> str:
    arguments = {
        "issuer": ISSUER,
        "subject": "user_123",
        "anonymous": False,
        "claims": {"plan": "pro", "seats": 3},
        "email": "ana@example.com",
        "name": "Ana",
        "now": NOW,
    }
    return session_tokens.mint(KEY, **(arguments | changes))


def read(token: str, *, now: datetime | int = NOW) -> SessionToken:
    return session_tokens.read(token, public_keys=PUBLIC_KEYS, issuer=ISSUER, now=now)


def refusal(token: str, *, now: int = NOW) -> SessionTokenError:
    with pytest.raises(SessionTokenError) as refused:
        read(token, now=now)
    assert refused.value.status == 401
    return refused.value


def encoded(part: object) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def test_what_is_minted_is_read() -> None:
    assert read(mint(now=datetime.fromtimestamp(NOW + 0.9, UTC))) == SessionToken(
        subject="user_123",
        anonymous=False,
        claims={"plan": "pro", "seats": 3},
        email="ana@example.com",
        name="Ana",
        expires_at=datetime.fromtimestamp(NOW + 1800, UTC),
    )


def test_an_anonymous_customer_has_no_name() -> None:
    token = read(mint(anonymous=True, email=None, name=None, claims={}))
    assert (token.anonymous, token.email, token.name, token.claims) == (True, None, None, {})


def test_the_token_on_the_wire() -> None:
    decoded = jose_jwt.decode(mint(), jose_jwk.ECKey.import_key(NEW_KEY.public_jwk), algorithms=["ES256"])
    assert decoded.header == {"alg": "ES256", "kid": NEW_KEY.kid, "typ": "JWT"}
    assert decoded.claims == GOOD


@pytest.mark.parametrize(("age_s", "lifetime_s"), [(1800, 1800), (1804, 1800), (64, 60)])
def test_a_token_lives_until_its_end_and_the_leeway(age_s: int, lifetime_s: int) -> None:
    assert read(mint(lifetime_s=lifetime_s), now=NOW + age_s).subject == "user_123"


def test_an_expired_token_says_so() -> None:
    error = refusal(mint(), now=NOW + 1805)
    assert (error.code, error.message) == ("expired", "The session token has expired.")


def test_a_token_from_the_near_future_passes_and_from_further_says_how_far() -> None:
    assert read(mint(now=NOW + 5)).subject == "user_123"
    error = refusal(mint(now=NOW + 6))
    assert error.code == "invalid"
    assert error.message == "The session token was minted 6 seconds from now: a clock is wrong."


@pytest.mark.parametrize("subject", ["a", "a" * 255, "東" * 255])
def test_subjects_of_1_to_255_characters(subject: str) -> None:
    assert read(mint(subject=subject)).subject == subject


@pytest.mark.parametrize(
    ("changes", "message", "field"),
    [
        ({"subject": ""}, "A subject has 1 to 255 characters.", "subject"),
        ({"subject": "a" * 256}, "A subject has 1 to 255 characters.", "subject"),
        ({"subject": "a\0"}, "A session token carries no NUL characters.", None),
        ({"claims": {"a": ["\\\0"]}}, "A session token carries no NUL characters.", None),
        ({"name": "\ud800"}, "A session token carries plain JSON. A lone surrogate is not text.", None),
        ({"claims": {"a": float("nan")}}, "A session token carries plain JSON. NaN is not a JSON number.", None),
        ({"claims": {"a": b""}}, "A session token carries plain JSON. bytes is not JSON.", None),
        ({"claims": {"a": "x" * 6_000}}, "A session token has at most 8 KB.", "claims"),
    ],
)
def test_what_could_not_be_read_or_stored_is_not_minted(
    changes: dict[str, object], message: str, field: str | None
) -> None:
    with pytest.raises(SessionTokenError) as refused:
        mint(**changes)
    error = refused.value
    assert (error.code, error.status, error.message, error.field) == ("invalid", 422, message, field)


def test_text_that_only_looks_like_a_nul_is_minted() -> None:
    assert read(mint(claims={"a": "\\u0000"})).claims == {"a": "\\u0000"}


@pytest.mark.parametrize("claim", ["exp", "aud", "iss", "sub", "iat", "anon", "claims"])
def test_every_claim_is_required(claim: str) -> None:
    assert refusal(signing.sign(KEY, claims={k: v for k, v in GOOD.items() if k != claim})).code == "invalid"


@pytest.mark.parametrize(
    "change",
    [
        {"aud": "refundOrder"},
        {"aud": ["median:session"]},
        {"aud": ["median:session", "refundOrder"]},
        {"aud": "Median:session"},
        {"iss": "https://median.example/w/other"},
        {"iss": f"{ISSUER}/"},
        {"sub": ""},
        {"sub": "a" * 256},
        {"sub": 7},
        {"sub": None},
        {"anon": "false"},
        {"claims": []},
        {"exp": str(NOW + 1800)},
        {"exp": NOW + 1800.5},
        {"iat": "now"},
    ],
    ids=str,
)
def test_a_claim_of_another_value_is_invalid(change: dict[str, object]) -> None:
    assert refusal(signing.sign(KEY, claims=GOOD | change)).code == "invalid"


def test_an_assertion_is_no_session_token_and_the_reverse() -> None:
    assertion = signing.assertion(
        KEY, issuer=ISSUER, audience="refundOrder", subject="user_123", anonymous=False, call_id="call_1", now=NOW
    )
    assert refusal(assertion).code == "invalid"

    key = jose_jwk.ECKey.import_key(NEW_KEY.public_jwk)
    tool = jose_jwt.JWTClaimsRegistry(now=lambda: NOW, aud={"essential": True, "value": "refundOrder"})
    tool.validate(jose_jwt.decode(assertion, key, algorithms=["ES256"]).claims)
    with pytest.raises(Exception, match="aud"):
        tool.validate(jose_jwt.decode(mint(), key, algorithms=["ES256"]).claims)


PUBLIC = serialization.PublicFormat.SubjectPublicKeyInfo


@pytest.mark.parametrize(
    "published",
    [
        KEY.private.public_key().public_bytes(serialization.Encoding.PEM, PUBLIC),
        KEY.private.public_key().public_bytes(serialization.Encoding.DER, PUBLIC),
        json.dumps(NEW_KEY.public_jwk).encode(),
        json.dumps(NEW_KEY.public_jwk, separators=(",", ":")).encode(),
    ],
    ids=["PEM", "DER", "JWK", "compact JWK"],
)
@pytest.mark.parametrize("algorithm", ["HS256", "hs256", "ES256"])
def test_the_public_key_is_no_hmac_secret(published: bytes, algorithm: str) -> None:
    signed = f"{encoded({'alg': algorithm, 'kid': NEW_KEY.kid})}.{encoded(GOOD)}"
    digest = hmac.digest(published, signed.encode(), hashlib.sha256)
    assert refusal(f"{signed}.{encoded(digest)}").code == "invalid"


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "", " ES256", "ES256 ", "es256", "Es256", "RS256", None, ["ES256"]]
)
@pytest.mark.parametrize("keep_signature", [True, False])
def test_no_other_algorithm(algorithm: object, keep_signature: bool) -> None:
    """A signature that would be good under ES256 does not help."""
    signed = f"{encoded({'alg': algorithm, 'kid': NEW_KEY.kid})}.{encoded(GOOD)}"
    good = signing.sign(KEY, claims=GOOD).rpartition(".")[2]
    assert refusal(f"{signed}.{good if keep_signature else ''}").code == "invalid"


@pytest.mark.parametrize("header", [{"kid": "unknown"}, {"kid": ""}, {"kid": 7}, {"kid": ["a"]}, {}], ids=str)
def test_an_unknown_key_is_refused(header: dict[str, object]) -> None:
    rest = mint().split(".", 1)[1]
    assert refusal(f"{encoded({'alg': 'ES256', **header})}.{rest}").code == "invalid"


def test_a_key_of_the_token_itself_is_not_used() -> None:
    other = signing.new_key()
    token = session_tokens.mint(
        signing.load_key(other.kid, other.private_pem),
        issuer=ISSUER, subject="user_123", anonymous=False, claims={}, email=None, name=None, now=NOW,
    )  # fmt: skip
    message = "The session token is signed with a key that this workspace does not have."
    assert refusal(token).message == message
    _, payload, signature = token.split(".")
    carried = encoded({"alg": "ES256", "kid": NEW_KEY.kid, "jwk": other.public_jwk, "jku": "https://evil.example/jwks"})
    assert refusal(f"{carried}.{payload}.{signature}").code == "invalid"


def test_a_changed_payload_is_refused() -> None:
    header, _, signature = mint().split(".")
    assert refusal(f"{header}.{encoded(GOOD | {'sub': 'user_124'})}.{signature}").code == "invalid"


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "a.b", "a.b.c", "mdn_abc", "ä.ö.ü", "\ud800", "\0", encoded(b"[" * 4000) + "..", "." * 8000],
    ids=lambda token: repr(token[:12]),
)
def test_what_is_no_token_is_invalid(token: str) -> None:
    assert refusal(token).code == "invalid"


def test_the_size_bound_is_8_kb() -> None:
    room = session_tokens.MAX_BYTES - len(mint(claims={"a": ""}))
    largest = next(
        token for extra in (0, 1, 2, 3) if len(token := mint(claims={"a": "x" * (room * 3 // 4 - extra)})) <= 8192
    )
    assert 8188 <= len(largest) <= 8192
    assert read(largest).subject == "user_123"
    assert refusal(largest + "a" * (8193 - len(largest))).message == "The session token is not valid."
