"""The JWT assertion: tokens by an independent library, keys from a real JWKS server, its outages, floods of key ids."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import jwt
import pytest
import time_machine
from joserfc import jwt as jose
from joserfc.jwk import ECKey
from median_tools import ToolContext, Tools, define, keys
from median_tools.admission import Request
from median_tools.server import Server

from tests.sdk.world import NOBODY, SECRET, call_body, data, get, post, signed


class Issuer:
    """A workspace that publishes keys over HTTP and counts how often it is asked."""

    def __init__(self) -> None:
        self.key = ECKey.generate_key("P-256", parameters={"kid": "k1", "alg": "ES256", "use": "sig"})
        self.published = [self.key]
        self.answer: tuple[str, bytes] | None = None
        self.asked: list[str] = []
        self.server = Server(self._app).start()
        self.url = self.server.url

    def _app(self, environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        self.asked.append(environ["PATH_INFO"])
        keys = {"keys": [key.as_dict(private=False) for key in self.published]}
        status, body = self.answer or ("200 OK", json.dumps(keys).encode())
        start_response(status, [("Content-Type", "application/json")])
        return [body]

    def headers(self, *, key: ECKey | None = None, kid: str = "k1", **claims: object) -> dict[str, str]:
        now = int(time.time())
        whole = {
            "iss": self.url,
            "aud": "orderStatus",
            "sub": "user_123",
            "anon": False,
            "iat": now - 5,
            "exp": now + 30,
            "jti": "call_1",
            **claims,
        }
        kept = {name: value for name, value in whole.items() if value is not None}
        token = jose.encode({"alg": "ES256", "kid": kid}, kept, key or self.key)
        return {"authorization": f"Bearer {token}"}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.server.close()


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def tools(issuer: Issuer, ran: list[str]) -> Tools:
    tools = define(issuer=issuer.url)

    @tools.tool(description="Where an order is.")
    def orderStatus(context: ToolContext) -> str | None:
        ran.append(context.tool_call_id)
        return context.visitor.external_id

    return tools


BODY = call_body("orderStatus")


def test_accepts_what_the_independent_library_signs(tools: Tools, issuer: Issuer, ran: list[str]) -> None:
    answers = [
        tools.answer(post(call_body("orderStatus", call_id=f"call_{n}"), issuer.headers(jti=f"call_{n}")))
        for n in (1, 2)
    ]
    assert [(answer.status, data(answer)) for answer in answers] == [(200, "user_123")] * 2
    assert ran == ["call_1", "call_2"]
    assert issuer.asked == ["/.well-known/jwks.json"]


def test_a_sync_has_its_own_audience_and_no_subject(tools: Tools, issuer: Issuer) -> None:
    assert tools.answer(get(issuer.headers(aud="median:sync", sub=None))).status == 200
    refused = tools.answer(get(issuer.headers()))
    assert (refused.status, data(refused)["error"]["message"]) == (401, "authorization: Audience doesn't match.")


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"aud": "refundOrder"}, "authorization: Audience doesn't match."),
        ({"aud": "median:sync"}, "authorization: Audience doesn't match."),
        ({"iss": "https://other.example"}, "authorization: Invalid issuer."),
        ({"exp": timedelta(seconds=-60)}, "authorization: Signature has expired."),
        ({"iat": timedelta(seconds=600)}, "authorization: The token is not yet valid (iat)."),
        ({"exp": timedelta(seconds=900)}, "authorization: exp is too far away."),
        ({"exp": None}, 'authorization: Token is missing the "exp" claim.'),
        ({"jti": None}, 'authorization: Token is missing the "jti" claim.'),
        ({"jti": "call_2"}, "authorization: jti is not the call's id."),
        ({"sub": "user_204"}, "authorization: sub is not the verified visitor."),
        ({"sub": None}, "authorization: sub is not the verified visitor."),
        ({"anon": True}, "authorization: sub is not the verified visitor."),
        ({"exp": "soon"}, "authorization: Expiration Time claim (exp) must be an integer."),
        ({"exp": "9999999999"}, "authorization: exp is of the wrong type."),
        ({"aud": ["orderStatus", "refundOrder"]}, "authorization: aud is of the wrong type."),
        ({"approval": "by Sam"}, "authorization: approval is for another input."),
    ],
)
def test_a_claim_that_is_not_right_is_named(
    tools: Tools, issuer: Issuer, ran: list[str], claims: dict[str, object], message: str
) -> None:
    now = int(time.time())
    said = {name: now + int(at.total_seconds()) if isinstance(at, timedelta) else at for name, at in claims.items()}
    answer = tools.answer(post(BODY, issuer.headers(**said)))
    assert answer.status == 401
    assert data(answer) == {"error": {"code": "unauthorized", "message": message}}
    assert ran == []


def test_a_few_seconds_between_the_clocks_do_not_matter(tools: Tools, issuer: Issuer) -> None:
    now = int(time.time())
    ahead = tools.answer(post(BODY, issuer.headers(iat=now + 5)))
    late = tools.answer(post(call_body("orderStatus", call_id="call_2"), issuer.headers(jti="call_2", exp=now - 5)))
    assert (ahead.status, late.status) == (200, 200)


def test_somebody_not_signed_in_needs_no_subject(tools: Tools, issuer: Issuer) -> None:
    body = call_body("orderStatus", visitor=NOBODY)
    assert tools.answer(post(body, issuer.headers(sub=None, anon=True))).status == 200


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", "Basic abc", "Bearer a.b.c", "Bearer ..", "Bearer é.é.é", "Bearer " + "W" * 4000, "nothing"],
)
def test_an_odd_header_is_a_short_401(tools: Tools, header: str) -> None:
    answer = tools.answer(post(BODY, {"authorization": header}))
    assert answer.status == 401
    assert data(answer)["error"]["message"].startswith("authorization")
    assert len(answer.body) < 200


def test_a_header_nested_1000_deep_is_a_401(tools: Tools) -> None:
    nested = jwt.utils.base64url_encode(b"[" * 3000).decode()
    assert tools.answer(post(BODY, {"authorization": f"Bearer {nested}"})).status == 401
    assert tools.answer(post(BODY, {"authorization": f"Bearer {nested[:3900]}.e30.AA"})).status == 401


def test_only_the_issuers_es256_keys_sign(tools: Tools, issuer: Issuer, ran: list[str]) -> None:
    stranger = ECKey.generate_key("P-256")
    claims = jwt.decode(issuer.headers()["authorization"][7:], options={"verify_signature": False})
    public = issuer.key.as_pem(private=False)
    header = jwt.utils.base64url_encode(b'{"alg":"none","kid":"k1"}').decode()
    payload = jwt.utils.base64url_encode(json.dumps(claims).encode()).decode()
    hmac = jwt.utils.base64url_encode(
        jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(f"{header}.{payload}".encode(), public)
    ).decode()
    forged = jwt.utils.base64url_encode(b'{"alg":"HS256","kid":"k1"}').decode()
    for token in (
        f"{header}.{payload}.",
        f"{forged}.{payload}.{hmac}",
        issuer.headers(key=stranger)["authorization"][7:],
    ):
        assert tools.answer(post(BODY, {"authorization": f"Bearer {token}"})).status == 401
    assert ran == []


def test_a_call_with_the_same_jti_runs_once(tools: Tools, issuer: Issuer, ran: list[str]) -> None:
    request = post(BODY, issuer.headers())
    assert [tools.answer(request).status for _ in range(2)] == [200, 409]
    again = tools.answer(post(BODY, issuer.headers(turn="t2")))  # another token about the same call
    assert (again.status, ran) == (409, ["call_1"])


def test_with_a_secret_too_a_call_must_carry_both(issuer: Issuer) -> None:
    tools = define(secret=SECRET, issuer=issuer.url)
    hmac, token = signed(BODY), issuer.headers()
    statuses = [tools.answer(post(BODY, headers)).status for headers in (hmac, token, hmac | token)]
    assert statuses == [401, 401, 404]  # the last is admitted, to an endpoint without tools


def test_made_up_key_ids_ask_the_issuer_once(tools: Tools, issuer: Issuer) -> None:
    for n in range(100):
        refused = tools.answer(post(BODY, issuer.headers(kid=f"made-up-{n}")))
        assert (refused.status, data(refused)["error"]["message"]) == (
            401,
            "authorization: kid is not a key of the issuer.",
        )
    assert tools.answer(post(BODY, issuer.headers())).status == 200
    assert len(issuer.asked) == 1


def test_a_new_key_is_fetched_when_it_is_first_seen(
    tools: Tools, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tools.answer(post(BODY, issuer.headers())).status == 200
    monkeypatch.setattr(keys, "COOL_DOWN", 0)
    new = ECKey.generate_key("P-256", parameters={"kid": "k2", "alg": "ES256"})
    issuer.published.append(new)
    body = call_body("orderStatus", call_id="call_2")
    assert tools.answer(post(body, issuer.headers(key=new, kid="k2", jti="call_2"))).status == 200
    assert len(issuer.asked) == 2


@pytest.mark.parametrize(
    "outage",
    [("500 Oops", b""), ("200 OK", b"<html>"), ("200 OK", b'{"keys":[]}'), ("302 Found", b""), ("200 OK", b"[1]"),
     ("200 OK", b'{"keys":[{"kty":"oct","k":"AA","kid":"k1"}]}'), ("200 OK", b"[" * 5000)],
)  # fmt: skip
def test_the_last_good_keys_last_through_an_outage_but_not_for_ever(
    tools: Tools,
    issuer: Issuer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    outage: tuple[str, bytes],
) -> None:
    def status(call_id: str) -> int:
        body = call_body("orderStatus", call_id=call_id)
        return tools.answer(post(body, issuer.headers(jti=call_id))).status

    assert status("call_1") == 200
    monkeypatch.setattr(keys, "FRESH", 0)
    monkeypatch.setattr(keys, "COOL_DOWN", 0)
    issuer.answer = outage
    assert status("call_2") == 200
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    monkeypatch.setattr(keys, "STALE", 0)
    refused = tools.answer(post(call_body("orderStatus", call_id="call_3"), issuer.headers(jti="call_3")))
    assert refused.status == 503
    assert data(refused)["error"] == {
        "code": "keys_unavailable",
        "message": "The issuer's signing keys could not be fetched.",
    }
    issuer.answer = None
    monkeypatch.setattr(keys, "STALE", 60)
    assert status("call_4") == 200


def test_the_test_client_signs_with_a_key_of_its_own(tools: Tools, issuer: Issuer) -> None:
    client = tools.test_client()
    assert client.call("orderStatus", external_id="user_123").data == "user_123"
    assert client.call("orderStatus").data is None
    assert client.manifest() == tools.manifest()
    assert issuer.asked == []


def test_ids_are_kept_as_long_as_their_token_would_verify(tools: Tools, issuer: Issuer) -> None:
    now = int(time.time())
    request = post(BODY, issuer.headers())
    statuses = []
    for moment in (now, now + 39, now + 50):
        with time_machine.travel(moment, tick=False):
            statuses.append(tools.answer(request).status)
    assert statuses == [200, 409, 401]


def test_an_issuer_must_be_a_url() -> None:
    with pytest.raises(ValueError, match="^issuer must be the workspace's URL"):
        define(issuer="file:///etc")


def test_get_and_post_tokens_do_not_stand_in_for_each_other(tools: Tools, issuer: Issuer) -> None:
    request = Request("POST", tuple(issuer.headers(aud="median:sync").items()), BODY)
    assert tools.answer(request).status == 401


def test_an_approval_is_for_the_input_that_was_seen(tools: Tools, issuer: Issuer) -> None:
    tools.tool(description="Refunds.", name="refund", input={"type": "object"})(lambda input, context: None)
    given = {"orderNumber": "ORD-1042", "amount": 7.0, "note": "Zoë"}
    body = call_body("refund", given)
    seen = hashlib.sha256('{"amount":7,"note":"Zoë","orderNumber":"ORD-1042"}'.encode()).hexdigest()
    approval = {"by": {"kind": "teammate", "name": "Sam Okafor"}, "at": int(time.time()), "input_sha256": seen}
    headers = issuer.headers(aud="refund", approval=approval)
    for changed in ({**given, "amount": 70}, {**given, "amount": "7"}, {}):
        refused = tools.answer(post(call_body("refund", changed), headers))
        message = "authorization: approval is for another input."
        assert (refused.status, data(refused)["error"]["message"]) == (401, message)
    assert tools.answer(post(body, headers)).status == 200
