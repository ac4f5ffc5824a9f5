"""What a call came to, row by row of the published table, for manifest tools and for HTTP tools."""

import json

import pytest

from tools import outcomes
from tools.client import Answer, Failure
from tools.outcomes import Outcome, Refusal

NOT_IN_TIME = "The endpoint did not answer in time."
NO_RESULT = "The tool returned no result. Check whether the action completed before retrying."
REQUEST_FAILED = "The tool request failed. Check the result before retrying."


def answer(text: str, *, status: int = 200, replaced: bool = False, truncated: bool = False) -> Answer:
    return Answer(
        status=status,
        headers={},
        body=text.encode("utf-8", "surrogatepass"),
        text=text,
        replaced=replaced,
        truncated=truncated,
        elapsed_s=0.1,
    )


def both(given: Answer | Failure) -> tuple[Outcome, Outcome]:
    return outcomes.from_answer(given, kind="manifest"), outcomes.from_answer(given, kind="http")


@pytest.mark.parametrize(
    ("kind", "status", "sentence", "told"),
    [
        ("timed_out", None, NOT_IN_TIME, {"kind": "timed-out"}),
        ("unreachable", None, NOT_IN_TIME, {"kind": "transport-error"}),
        (
            "blocked_address",
            None,
            "The endpoint's address is not public, so nothing was sent.",
            {"kind": "transport-error"},
        ),
        (
            "redirected",
            302,
            "The endpoint redirected, which tool calls never follow.",
            {"kind": "refused", "httpCode": 302},
        ),
        (
            "too_big",
            200,
            "The endpoint answered with too much to read.",
            {"kind": "response-too-big", "httpCode": 200},
        ),
        ("broken_answer", None, NO_RESULT, {"kind": "transport-error"}),
        ("broken_answer", 600, NO_RESULT, {"kind": "transport-error"}),
        ("bad_encoding", None, NO_RESULT, {"kind": "transport-error"}),
    ],
)
def test_failures(kind: str, status: int | None, sentence: str, told: dict[str, object]) -> None:
    given = Failure(kind=kind, status=status, detail="More.", sent=True, elapsed_s=1.0)
    manifest, http = both(given)
    for outcome in (manifest, http):
        detail = "" if kind == "blocked_address" else "More."
        assert (outcome.state, outcome.code, outcome.sentence, outcome.detail) == ("failed", kind, sentence, detail)
        assert (outcome.refusal, outcome.result, outcome.raw_text) == (None, None, "")
    more = {"detail": "More."} if kind == "timed_out" else {}
    assert manifest.for_model == {"error": sentence} | more
    assert http.for_model == {"status": "error"} | told


@pytest.mark.parametrize(
    ("body", "sentence", "told"),
    [
        ("", "The endpoint answered 500.", "returned-nothing"),
        ("<h1>Oh no</h1>", "The endpoint answered 500.", "refused"),
        ("{}", "The endpoint answered 500.", "refused"),
        ('{"error":"text"}', "The endpoint answered 500.", "refused"),
        (
            '{"error":{"code":"declined","message":"No funds."}}',
            "The endpoint answered 500. declined: No funds.",
            "refused",
        ),
        ('{"error":{"code":"declined"}}', "The endpoint answered 500. declined", "refused"),
        ('{"error":{"message":"No funds."}}', "The endpoint answered 500. No funds.", "refused"),
        ('{"error":{"message":"No\\n\\u0000 funds."}}', "The endpoint answered 500. No \u2400 funds.", "refused"),
        ('{"error":{"code":17,"message":null}}', "The endpoint answered 500. 17", "refused"),
    ],
)
def test_error_statuses(body: str, sentence: str, told: str) -> None:
    manifest, http = both(answer(body, status=500))
    for outcome in (manifest, http):
        assert (outcome.state, outcome.code, outcome.sentence) == ("failed", "bad_status", sentence)
        assert (outcome.http_status, outcome.raw_text) == (500, body)
    assert manifest.for_model == {"error": sentence}
    assert http.for_model == {"status": "error", "kind": told, "httpCode": 500}


def test_a_long_message_of_an_endpoint_is_shortened() -> None:
    body = json.dumps({"error": {"message": "x" * 90_000}})
    sentence = outcomes.from_answer(answer(body, status=500), kind="manifest").sentence
    assert len(sentence) == len("The endpoint answered 500. ") + 500


def test_an_error_body_that_was_cut_short_is_still_a_body() -> None:
    outcome = outcomes.from_answer(answer("", status=500, truncated=True), kind="http")
    assert outcome.for_model == {"status": "error", "kind": "refused", "httpCode": 500}
    assert outcome.raw_flags == ["cut_short"]


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ('{"refunded":true,"amount":48.10}', {"refunded": True, "amount": 48.1}),
        ("[1,2]", [1, 2]),
        ("null", None),
        ('""', ""),
        ("0", 0),
        ("", ""),
        ("   \n", ""),
        ("plain words", "plain words"),
        ("<meta http-equiv=refresh>", "<meta http-equiv=refresh>"),
        ('{"a":1,"a":2}', {"a": 2}),
        ('{"total":NaN}', '{"total":NaN}'),
        ('{"t":1e999}', '{"t":1e999}'),
        ('{"t":-Infinity}', '{"t":-Infinity}'),
        ("[" * 70 + "]" * 70, "[" * 70 + "]" * 70),
        ('{"n":12345678901234567890123}', {"n": 12345678901234567890123}),
        ('{"note":"W\\u0000s","refunded":true}', {"note": "W\u2400s", "refunded": True}),
        ('{"k\\u0000":"\\ud800"}', {"k\u2400": "\ufffd"}),
    ],
)
def test_results(body: str, result: object) -> None:
    for outcome in both(answer(body)):
        assert (outcome.state, outcome.code, outcome.sentence, outcome.refusal) == ("completed", "", "", None)
        assert (outcome.result, outcome.for_model) == (result, result)
        assert (outcome.raw_text, outcome.raw_flags, outcome.http_status) == (body, [], 200)
        assert outcomes.stored_result(outcome.raw_text) == result


def test_what_cannot_be_stored_is_made_visible_and_flagged() -> None:
    outcome = outcomes.from_answer(answer('"a\0b\ud800"', replaced=True), kind="manifest")
    assert outcome.raw_text == '"a\u2400b\ufffd"'
    assert outcome.result == "a\u2400b\ufffd"
    assert outcome.raw_flags == ["bytes_replaced", "characters_replaced"]


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ('{"ok":false}', Refusal("tool_refused", "")),
        ('{"ok":false,"reason":"not_found"}', Refusal("not_found", "")),
        ('{"known":false,"reason":"","detail":"No such order."}', Refusal("tool_refused", "No such order.")),
        ('{"allowed":false,"reason":"over_limit","detail":"Up to $50."}', Refusal("over_limit", "Up to $50.")),
        ('{"outcome":"blocked","detail":{"max":50}}', Refusal("tool_refused", '{"max":50}')),
        ('{"outcome":"unknown","reason":null}', Refusal("tool_refused", "")),
    ],
)
def test_a_tool_that_says_no_has_completed(body: str, refusal: Refusal) -> None:
    manifest, http = both(answer(body))
    for outcome in (manifest, http):
        assert (outcome.state, outcome.code, outcome.sentence, outcome.refusal) == ("completed", "", "", refusal)
        assert outcome.result == json.loads(body)
    note = "The tool said no. Tell the customer what it means, and do not call it again for the same thing."
    assert manifest.for_model == {"refused": True, "reason": refusal.reason, "detail": refusal.detail, "note": note}
    assert http.for_model == json.loads(body)


@pytest.mark.parametrize(
    "body", ['{"ok":true}', '{"ok":0}', '{"ok":"false"}', '{"known":null}', '{"outcome":"done"}', '[{"ok":false}]']
)
def test_these_are_no_refusals(body: str) -> None:
    assert outcomes.from_answer(answer(body), kind="manifest").refusal is None


def test_failures_of_calls_that_did_not_come_back_or_never_left() -> None:
    made = {
        "no_longer_available": ("The tool is no longer available.", "unknown-tool"),
        "no_longer_fits": (
            "The tool changed after this was requested, and the input no longer fits it.",
            "unknown-tool",
        ),
        "no_result": (NO_RESULT, "transport-error"),
        "request_failed": (REQUEST_FAILED, "transport-error"),
    }
    for code, (sentence, told) in made.items():
        manifest, http = getattr(outcomes, code)(), getattr(outcomes, code)(kind="http")
        for outcome in (manifest, http):
            assert (outcome.state, outcome.code, outcome.sentence) == ("failed", code, sentence)
        assert manifest.for_model == {"error": sentence}
        assert http.for_model == {"status": "error", "kind": told}
    assert outcomes.UNKNOWN_TOOL_FOR_MODEL == {"status": "error", "kind": "unknown-tool"}
