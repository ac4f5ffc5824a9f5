"""The rows of an input: they hide nothing, tell types apart, and never let one value pass for another."""

import json
from datetime import timedelta

import pytest
from hypothesis import given, settings, strategies

from tools import characters, values
from tools.values import Row


def only(text: str) -> Row:
    """The one row of an input with one field."""
    (row,) = values.rows_of(text).rows
    return row


def shown(row: Row) -> str:
    """What stands in a row, codes in brackets, marks in braces."""
    form = {"text": "{}", "code": "[{}]", "mark": "{{{}}}"}
    return row.none or "".join(form[piece.kind].format(piece.text) for piece in row.pieces)


@pytest.mark.parametrize(
    ("value", "expected", "is_text"),
    [
        ("5", "5", False),
        ('"5"', "5", True),
        ("5.00", "5.00", False),
        ("1e5", "1e5", False),
        ("-0", "-0", False),
        ("123456789012345678901234567890", "123456789012345678901234567890", False),
        ("true", "true", False),
        ('"true"', "true", True),
        ('"True"', "True", True),
        ('"2025-06-03"', "2025-06-03", True),
        ('"1200-066"', "1200-066", True),
        ('"[]"', "[]", True),
        ('"{}"', "{}", True),
        ("null", "null", False),
        ('"null"', "null", True),
        ('""', "empty text", False),
        ('"empty text"', "empty text", False),
        ("[]", "empty list", False),
        ("{}", "empty object", False),
        ('"ORD-1042"', "ORD-1042", False),
    ],
)
def test_types_that_look_alike_are_told_apart(value: str, expected: str, is_text: bool) -> None:
    row = only(f'{{"x":{value}}}')

    assert (shown(row), row.is_text) == (expected, is_text)
    # Words of ours are never a value's own characters.
    assert bool(row.none) == (value in {"null", '""', "[]", "{}"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ORD-\u202e2401", "ORD-[U+202E]2401"),
        ("a\u2066moc.live@\u2069example.com", "a[U+2066]moc.live@[U+2069]example.com"),
        ("1000\u200b0", "1000[U+200B]0"),
        ("bell\u0007", "bell[U+0007]"),
        ("a\u00a0b", "a[U+00A0]b"),
        ("soft\u00adhyphen", "soft[U+00AD]hyphen"),
        ("\ufeffbom", "[U+FEFF]bom"),
        ("filler\u3164", "filler[U+3164]"),
        ("tag\U000e0041", "tag[U+E0041]"),
        ("vs\ufe0f", "vs[U+FE0F]"),
        ("next\u0085line", "next[U+0085]line"),
        ("para\u2029graph", "para[U+2029]graph"),
        ("  two", "{·}{·}two"),
        ("two ", "two{·}"),
        ("in between", "in between"),
        ("tab\there", "tab{→}here"),
        ("a\nb", "a{↵}\nb"),
        ("end \nof line", "end{·}{↵}\nof line"),
        ("cr\r\n", "cr[U+000D]{↵}\n"),
        ("naïve café, 2.º Esq.", "naïve café, 2.º Esq."),
        ("شكرًا، تم رد المبلغ", "شكرًا، تم رد المبلغ"),
    ],
)
def test_what_does_not_show_is_written_out(text: str, expected: str) -> None:
    assert shown(only(json.dumps({"x": text}))) == expected


@pytest.mark.parametrize(
    ("text", "words", "codes"),
    [
        ("\u0430na@example.com", "mixes Cyrillic and Latin", ["U+0430"]),
        ("p\u0430yp\u0430l \u0430gain", "mixes Cyrillic and Latin", ["U+0430"]),
        ("\u0441\u043e\u0440\u0435", "Cyrillic letters that look like Latin", ["U+0441", "U+043E", "U+0440"]),
        ("alph\u03bf", "mixes Greek and Latin", ["U+03BF"]),
        ("\uff21\uff11", "characters that look like ordinary ones", ["U+FF21", "U+FF11"]),
        ("\U0001d400na", "characters that look like ordinary ones", ["U+1D400"]),
    ],
)
def test_letters_that_pass_for_others_are_named(text: str, words: str, codes: list[str]) -> None:
    mixture = only(json.dumps({"x": text})).mixture

    assert mixture is not None
    assert (mixture.words, [piece.text for piece in mixture.codes]) == (words, codes)


@pytest.mark.parametrize("text", ["Привет, Sam", "Ελλάδα", "Ana Souza", "日本 Tokyo", "2.º Esq.", "5 µm"])
def test_ordinary_texts_in_any_script_get_no_hint(text: str) -> None:
    assert only(json.dumps({"x": text})).mixture is None


def test_keys_come_in_the_order_they_are_sent_and_read_as_words() -> None:
    rows = values.rows_of('{"orderNumber":1,"ship_to":2,"orderID":3,"URL":4,"sku2":5}').rows

    assert [row.label for row in rows] == ["Order number", "Ship to", "Order ID", "URL", "Sku 2"]


def test_keys_that_words_cannot_stand_for_are_shown_exactly() -> None:
    text = '{"orderNumber":1,"order_number":2,"Low risk\\nAmount: 1":3,"":4,"a\\u200bb":5}'
    rows = values.rows_of(text).rows

    assert [row.label for row in rows] == [""] * 5
    assert ["".join(piece.text for piece in row.key) for row in rows] == [
        "orderNumber", "order_number", "Low risk↵\nAmount: 1", "empty key", "aU+200Bb",
    ]  # fmt: skip
    assert values.rows_of(text).hidden == 1


def test_nesting_stays_readable_and_complete() -> None:
    deep = '{"a":{"b":{"c":{"d":{"e":{"f":7}}}}},"items":["x",{"y":1}]}'
    a, items = values.rows_of(deep).rows

    assert (a.count, items.count) == ("1 field", "2 items")
    assert [row.label for row in items.rows] == ["1", "2"]
    row = a
    for label in "BCDEF":
        (row,) = row.rows
        assert row.label == label
    assert shown(row) == "7"


def test_a_long_input_keeps_every_field() -> None:
    fields = {"note": "n" * 5_000} | {f"field{number}x": number for number in range(60)} | {"list": list(range(500))}
    made = values.rows_of(json.dumps(fields | {"amount": 9999})).rows

    assert len(made) == 63
    assert (made[0].folds, made[0].length) == (True, 5_000)
    assert made[61].count == "500 items"
    assert shown(made[-1]) == "9999"


def test_what_was_not_sent_is_told_from_what_is_empty() -> None:
    rows = values.rows_of('{"note":""}', optional=["note", "plan"]).rows

    assert [(row.label, row.none) for row in rows] == [("Note", "empty text"), ("Plan", "not sent")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"orderNumber":"ORD-1042","reason":"damaged"}', "ORD-1042, damaged"),
        ('{"amount":5,"notify":true}', "5, true"),
        ("{}", ""),
        (json.dumps({"x": "a" * 80}), "a" * 80),
        (json.dumps({"x": "a" * 81}), None),
        ('{"amount":"5"}', None),
        ('{"a":""}', None),
        ('{"a":null}', None),
        ('{"a":{"b":1}}', None),
        ('{"a":[1]}', None),
        ('{"a":"one\\ntwo"}', None),
        ('{"a":" x"}', None),
        ('{"a":"x\\u200by"}', None),
        ('{"a":"\\u0430na"}', None),
        ('{"a":"x, y"}', None),
        ('{"a\\n":"x"}', None),
    ],
)
def test_an_input_fits_on_one_line_only_when_nothing_about_it_could_mislead(text: str, line: str | None) -> None:
    assert values.rows_of(text).one_line == line


def test_exact_json_is_the_same_json_with_nothing_unseen_in_it() -> None:
    text = '{"a":"ORD-\u200b1","b":"\u0430na","c":"\U000e0041","d":"Привет"}'

    exact = values.rows_of(text).exact

    assert exact == '{"a":"ORD-\\u200b1","b":"\\u0430na","c":"\\udb40\\udc41","d":"Привет"}'
    assert json.loads(exact) == json.loads(text)


@settings(max_examples=200, deadline=timedelta(seconds=1))
@given(strategies.dictionaries(strategies.text(max_size=8), strategies.text(max_size=30), max_size=5))
def test_no_text_hides_anything(fields: dict[str, str]) -> None:
    made = values.rows_of(json.dumps(fields))

    assert len(made.rows) == len(fields)
    assert json.loads(made.exact) == fields
    assert not any(map(characters.is_hidden, made.exact))
    for row in made.rows:
        for piece in (*row.key, *row.pieces):
            assert not characters.has_hidden(piece.text)
