"""What the company's own tools have shown to this customer: which things, which amounts, and whose. Pure."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from approvals.reviewer import words
from approvals.reviewer.material import Call, Material
from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError

# A tool that found nothing says so, and with that repeats what it was asked for.
_NOTHING: Final = re.compile(
    r"\b(?:no|not|none|nobody|nothing|never|unknown|invalid|missing|unable|cannot|error)\b|n['’]t\b", re.IGNORECASE
)
# Fields that say whose something is, and of those, the ones whose value is a person or an id.
_OWNERS: Final = frozenset(
    {"account", "buyer", "cardholder", "client", "customer", "holder", "member", "owner", "user"}
)
_WHO: Final = _OWNERS | {"name", "id"}
# Fields whose number is no amount.
_NO_AMOUNT: Final = frozenset(
    {"id", "number", "zip", "postcode", "code", "phone", "year", "count", "quantity", "qty", "items", "parcels"}
)
_MONEY: Final = re.compile(r"[$€£]?\s?(\d[\d,]*(?:\.\d+)?)(?:\s?[A-Z]{3})?")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

Leaf = tuple[tuple[str, ...], Json]


def shown(name: str, material: Material) -> list[Call]:
    """The look-ups that came back with something about `name`."""
    return [call for call in material.look_ups if _shows(call, name)]


def amounts(calls: Iterable[Call]) -> set[Decimal]:
    """Every amount in what came back: a value that is a number, not a digit of a date or of an address."""
    return {number for call in calls for path, value in _leaves(call.result) for number in _amount(path, value)}


def names_another(call: Call, material: Material) -> bool:
    """An email address, a person or an id made like the customer's, that is not the customer's."""
    if words.addresses(call.result) - {material.email.lower()}:
        return True
    shape = re.fullmatch(r"([A-Za-z]+[_-]?)\d+", material.subject)
    ids = re.findall(rf"\b{re.escape(shape[1])}\d+\b", call.result) if shape else []
    if any(each != material.subject for each in ids):
        return True
    return any(_is_anothers(path, value, material) for path, value in _leaves(call.result))


def _shows(call: Call, name: str) -> bool:
    values = [value for _, value in _leaves(call.result)]
    texts = [value for value in values if isinstance(value, str)]
    asked = {value for _, value in _leaves(call.input)}
    if any(_NOTHING.search(text) for text in texts) or not any(value and value not in asked for value in values):
        return False
    return words.names(call.input, name) or words.names(call.result, name)


def _is_anothers(path: tuple[str, ...], value: Json, material: Material) -> bool:
    if not path or path[-1] not in _WHO or not _OWNERS & set(path):
        return False
    text = str(value)
    if _UUID.fullmatch(text) or text.isdigit():
        alike = _UUID.fullmatch(material.subject) or material.subject.isdigit()
        return bool(alike) and text.lower() != material.subject.lower()
    if not isinstance(value, str) or any(map(str.isdigit, text)) or path[-1] == "id" or path == ("account",):
        return False
    own = set(words.tokens(material.name))
    return not words.addresses(text) and not (own and own >= set(words.tokens(text)))


def _amount(path: tuple[str, ...], value: Json) -> Iterator[Decimal]:
    money = _MONEY.fullmatch(value.strip()) if isinstance(value, str) else None
    if path and path[-1] in _NO_AMOUNT:
        return
    if money:
        yield Decimal(money[1].replace(",", ""))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield Decimal(str(value))


def _leaves(text: str) -> Iterator[Leaf]:
    """The plain values of a JSON text, each with the words of its path; a text that is no JSON is one value."""
    try:
        whole = strict_json.loads(text) if text else None
    except JsonError:
        whole = text
    for path, value in strict_json.walk(whole):
        if not isinstance(value, dict | list):
            yield tuple(part for step in path if isinstance(step, str) for part in words.parts_of(step)), value
