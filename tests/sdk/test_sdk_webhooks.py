"""The HMAC signature: agreement with an independent library, tampering, skew, odd headers, rotation, replays."""

import json
from collections.abc import Callable

import pytest
import time_machine
from median_tools import ToolContext, ToolError, Tools, define
from median_tools.replays import Memory
from median_tools.webhooks import Webhooks
from standardwebhooks.webhooks import Webhook

from tests.sdk.world import OTHER_SECRET, SECRET, call_body, data, get, post, signed

NOW = 1_750_000_000


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def tools(ran: list[str]) -> Tools:
    tools = define(secret=SECRET)

    @tools.tool(description="Says what it was given.")
    def echo(text: str, context: ToolContext) -> str:
        ran.append(context.tool_call_id)
        return text

    return tools


def test_accepts_what_the_independent_library_signs(tools: Tools, ran: list[str]) -> None:
    body = call_body("echo", {"text": "Zoë / 東京 </script>"})
    answer = tools.answer(post(body, signed(body)))
    assert (answer.status, data(answer), ran) == (200, "Zoë / 東京 </script>", ["call_1"])


def test_the_independent_library_accepts_what_is_signed_here() -> None:
    body = call_body("echo", {"text": "Zoë"})
    headers = dict(Webhooks([SECRET]).sign("call_1", body))
    assert Webhook(SECRET).verify(body, headers) == json.loads(body)


def test_the_manifest_is_signed_over_an_empty_body(tools: Tools) -> None:
    assert tools.answer(get(signed(b""))).status == 200


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda body, headers: (body + b" ", headers), "webhook-signature does not match the request."),
        (
            lambda body, headers: (body, headers | {"webhook-id": "call_2"}),
            "webhook-signature does not match the request.",
        ),
        (
            lambda body, headers: (body, headers | {"webhook-timestamp": str(NOW - 1)}),
            "webhook-signature does not match the request.",
        ),
        (
            lambda body, headers: (body, headers | {"webhook-signature": headers["webhook-signature"][:-3] + "AA="}),
            "webhook-signature does not match the request.",
        ),
    ],
)
@time_machine.travel(NOW, tick=False)
def test_anything_changed_is_refused(
    tools: Tools,
    ran: list[str],
    spoil: Callable[[bytes, dict[str, str]], tuple[bytes, dict[str, str]]],
    message: str,
) -> None:
    body = call_body("echo", {"text": "hello"})
    answer = tools.answer(post(*spoil(body, signed(body))))
    assert answer.status == 401
    assert data(answer) == {"error": {"code": "unauthorized", "message": message}}
    assert ran == []


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_named(tools: Tools, name: str) -> None:
    body = call_body("echo", {"text": "hello"})
    headers = signed(body)
    for left_out in ({key: value for key, value in headers.items() if key != name}, headers | {name: ""}):
        answer = tools.answer(post(body, left_out))
        assert (answer.status, data(answer)["error"]["message"]) == (401, f"{name} is missing.")


@pytest.mark.parametrize(
    "signature", ["v1", "v1,", ",", "t=1,v1=", "t", "v2,abc", "nön-äscii", "v1," + "zz" * 40, " " * 50]
)
def test_an_odd_signature_is_a_short_401(tools: Tools, ran: list[str], signature: str) -> None:
    body = call_body("echo", {"text": "hello"})
    answer = tools.answer(post(body, signed(body) | {"webhook-signature": signature}))
    assert (answer.status, data(answer)["error"]["message"]) == (401, "webhook-signature does not match the request.")
    assert ran == []


def test_a_header_of_100_kb_and_one_sent_twice_are_refused(tools: Tools) -> None:
    body = call_body("echo", {"text": "hello"})
    headers = signed(body)
    long = tools.answer(post(body, headers | {"webhook-signature": "v1," * 33_000}))
    assert (long.status, data(long)["error"]["message"]) == (401, "webhook-signature is too long.")
    request = post(body, headers)
    twice = tools.answer(type(request)("POST", (*request.headers, ("webhook-id", "call_2")), body))
    assert (twice.status, data(twice)["error"]["message"]) == (401, "webhook-id was sent 2 times.")


@pytest.mark.parametrize(
    ("timestamp", "message"),
    [
        (str(NOW - 360), "webhook-timestamp is 360 seconds old; 300 are allowed."),
        (str(NOW + 360), "webhook-timestamp is 360 seconds in the future; 300 are allowed."),
        (str(NOW - 301), "webhook-timestamp is 301 seconds old; 300 are allowed."),
        (str(NOW * 1000), "webhook-timestamp is not a time in seconds."),
        ("1e9", "webhook-timestamp is not a time in seconds."),
        (f"-{NOW}", "webhook-timestamp is not a time in seconds."),
        (f"{NOW}.5", "webhook-timestamp is not a time in seconds."),
        ("٣", "webhook-timestamp is not a time in seconds."),
        ("yesterday", "webhook-timestamp is not a time in seconds."),
        ("0", f"webhook-timestamp is {NOW} seconds old; 300 are allowed."),
    ],
)
@time_machine.travel(NOW, tick=False)
def test_a_timestamp_out_of_range_says_by_how_much(tools: Tools, timestamp: str, message: str) -> None:
    body = call_body("echo", {"text": "hello"})
    headers = signed(body) | {"webhook-timestamp": timestamp}
    if timestamp.isdecimal() and timestamp.isascii() and int(timestamp) < NOW * 10:
        headers = signed(body, at=int(timestamp))  # rightly signed: only the age is at fault
    answer = tools.answer(post(body, headers))
    assert (answer.status, data(answer)["error"]["message"]) == (401, message)


@pytest.mark.parametrize("skew", [-300, 300])
@time_machine.travel(NOW, tick=False)
def test_five_minutes_either_way_pass(tools: Tools, skew: int) -> None:
    body = call_body("echo", {"text": "hello"})
    assert tools.answer(post(body, signed(body, at=NOW + skew))).status == 200


def test_one_of_several_signatures_is_enough(tools: Tools) -> None:
    """While a secret rotates Median signs with both; an endpoint knows the old, then the new."""
    body = call_body("echo", {"text": "hello"})
    ours, other = signed(body)["webhook-signature"], signed(body, secret=OTHER_SECRET)["webhook-signature"]
    headers = signed(body) | {"webhook-signature": f"v2,x {other} {ours}"}
    assert tools.answer(post(body, headers)).status == 200


@pytest.mark.parametrize("secret", [SECRET, OTHER_SECRET])
def test_an_endpoint_may_know_several_secrets(secret: str) -> None:
    body = call_body("nothing")
    known, unknown = define(secret=[SECRET, OTHER_SECRET]), define(secret="whsec_" + "QUFB" * 8)
    assert known.answer(post(body, signed(body, secret=secret))).status == 404
    assert unknown.answer(post(body, signed(body, secret=secret))).status == 401


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_ ", "whsec_AAAA", "whsec_!!!", SECRET.removeprefix("whsec_")])
def test_a_secret_that_protects_nothing_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="^secret must be whsec_ followed by base64 of 24 to 64 bytes$"):
        define(secret=secret)


def test_an_endpoint_without_any_check_is_refused() -> None:
    with pytest.raises(ValueError, match="^give secret=, issuer= or both"):
        define()
    with pytest.raises(ValueError, match="^secret is an empty list"):
        define(secret=[])


def test_the_second_arrival_is_told_and_does_not_run(tools: Tools, ran: list[str]) -> None:
    body = call_body("echo", {"text": "hello"})
    request = post(body, signed(body))
    assert tools.answer(request).status == 200
    again = tools.answer(request)
    assert again.status == 409
    assert data(again) == {
        "error": {"code": "replayed", "message": "This call has arrived before. It was not run again."}
    }
    assert ran == ["call_1"]


def test_a_manifest_request_may_come_again(tools: Tools) -> None:
    request = get(signed(b""))
    assert [tools.answer(request).status for _ in range(2)] == [200, 200]


def test_a_forged_call_does_not_use_up_the_id(tools: Tools) -> None:
    body = call_body("echo", {"text": "hello"})
    assert tools.answer(post(body, signed(body, secret=OTHER_SECRET))).status == 401
    assert tools.answer(post(body, signed(body))).status == 200


def test_ids_are_kept_as_long_as_their_call_would_verify(tools: Tools) -> None:
    """A call stamped five minutes ahead verifies for ten, and is remembered for ten."""
    body = call_body("echo", {"text": "hello"})
    request = post(body, signed(body, at=NOW + 300))
    statuses = []
    for moment in (NOW, NOW + 599, NOW + 601):
        with time_machine.travel(moment, tick=False):
            statuses.append(tools.answer(request).status)
    assert statuses == [200, 409, 401]


@time_machine.travel(NOW, tick=False)
def test_a_full_memory_refuses_rather_than_forgets() -> None:
    memory = Memory(limit=2)
    assert [memory.add(name, until=NOW + 10) for name in ("a", "b", "a")] == [True, True, False]
    with pytest.raises(ToolError) as refused:
        memory.add("c", until=NOW + 10)
    assert (refused.value.status, refused.value.code) == (503, "busy")
    with time_machine.travel(NOW + 11, tick=False):
        assert memory.add("c", until=NOW + 20) is True
