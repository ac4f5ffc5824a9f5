"""Write-ups without a model: plain words, few rows, and no value that the tool did not return."""

import json

import pytest

from median_site.lib import strict_json
from tools.writeups import HEADLINE_LIMIT, NOTHING, ROW_LIMIT, Row, WriteUp, write_up


def of(raw: str, *, label: str = "Refund order") -> WriteUp:
    return write_up(label=label, result=strict_json.loads(raw), refusal=None)


@pytest.mark.parametrize(
    ("raw", "headline"),
    [
        ('{"refunded":true,"amount":48.00}', "Refund order: refunded"),
        ('{"refunded":false}', "Refund order: not refunded"),
        ('{"status":"delivered","carrier":"DHL"}', "Refund order: delivered"),
        ('{"message":"Invoice sent to a***@example.com"}', "Refund order: Invoice sent to a***@example.com"),
        ('{"a":1,"b":2}', "Refund order returned 2 fields"),
        ('{"a":1}', "Refund order returned 1 field"),
        ("[1,2,3]", "Refund order returned 3 items"),
        ("7", "Refund order: 7"),
        ("false", "Refund order: No"),
        ('"Sent."', "Sent."),
        ('""', NOTHING),
        ("null", NOTHING),
        ("{}", NOTHING),
        ("[]", NOTHING),
    ],
)
def test_the_headline_says_how_it_went_in_the_results_own_words(raw: str, headline: str) -> None:
    assert of(raw).headline == headline


def test_nothing_returned_is_a_success_in_one_sentence() -> None:
    assert of("{}") == WriteUp("Done. The tool returned nothing.")


def test_rows_are_plain_values_with_every_digit_and_no_currency() -> None:
    assert of('{"refunded":true,"amount":48.00,"note":null,"to":""}').rows == (
        Row("Refunded", "Yes", "true"),
        Row("Amount", "48.00", "48.00"),
    )


def test_nested_values_stand_under_the_words_of_their_path() -> None:
    made = of('{"plan":"everyday","seats":{"used":1,"included":2},"tags":["a","b"]}')

    assert made.as_json() == [
        ["Plan", "everyday", '"everyday"'],
        ["Seats used", "1", "1"],
        ["Seats included", "2", "2"],
        ["Tags 1", "a", '"a"'],
        ["Tags 2", "b", '"b"'],
    ]


@pytest.mark.parametrize(
    ("refusal", "headline", "rows"),
    [
        ({"reason": "already_refunded", "detail": ""}, "The tool refused: already_refunded", ()),
        ({"reason": "", "detail": ""}, "The tool refused: Refund order gave no reason", ()),
        (
            {"reason": "too_late", "detail": "After 30 days."},
            "The tool refused: too_late",
            (Row("Detail", "After 30 days.", '"After 30 days."'),),
        ),
    ],
)
def test_a_refusal_says_that_the_tool_refused_and_why(
    refusal: dict[str, strict_json.Json], headline: str, rows: tuple[Row, ...]
) -> None:
    made = write_up(label="Refund order", result={"ok": False, "reason": "already_refunded"}, refusal=refusal)

    assert made == WriteUp(headline, rows)


def test_long_results_are_cut_and_the_headline_keeps_its_limit() -> None:
    result = json.dumps({f"key{number}": "v" * 500 for number in range(40)})
    made = of(result, label="L" * 80)

    assert len(made.headline) <= HEADLINE_LIMIT
    assert len(made.rows) == ROW_LIMIT
    assert made.rows[0].value == "v" * 199 + "…"


def test_a_long_text_is_cut_in_the_rows_and_named_in_the_headline() -> None:
    made = write_up(label="Read policy", result="line\n" * 100, refusal=None)

    assert made.headline == "Read policy returned text"
    assert [row.label for row in made.rows] == ["Text"]


@pytest.mark.parametrize(
    "raw",
    [
        '{"refunded":true,"amount":48.00,"at":"2025-06-03T14:02:00Z"}',
        '{"id":123456789012345678901234567890,"rate":1e5,"deep":{"er":{"text":"<b>x</b>"}}}',
        '[{"sku":"KTL-LID-09","left":0},{"sku":"FLT-100","left":12}]',
    ],
)
def test_every_value_is_in_the_raw_output(raw: str) -> None:
    made = of(raw)

    assert made.rows
    for row in made.rows:
        assert row.exact in raw
