"""What an input names, and whether a text speaks of it. Pure.

Three kinds of values: names (texts that say which order, which invoice), numbers (how much), and choices, which the
schema lists and which only say of what kind. A reason is a choice that is the customer's own to give.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from approvals.reviewer import words
from approvals.reviewer.material import Material
from median_site.lib import strict_json
from median_site.lib.strict_json import Json


@dataclass(frozen=True, slots=True)
class Named:
    """`covered` are words of the fields whose value says what is meant: with ORD-1042 nobody needs to say "order"."""

    whole: Json
    names: tuple[str, ...]
    numbers: tuple[Decimal, ...]
    choices: tuple[str, ...]
    reasons: tuple[str, ...]
    # Several fields hold names, or numbers: words do not tell which is which.
    is_ambiguous: bool
    # Fields that no word of a conversation can confirm: true, false and null.
    unsayable: tuple[str, ...]
    covered: frozenset[str]

    @property
    def words(self) -> set[str]:
        """Words that a question about this input may hold."""
        said = {
            token
            for text in (*self.names, *self.choices, *self.reasons)
            for token in words.tokens(text.replace("_", " "))
        }
        return said | set(self.covered)

    def missing_from(self, offer: str, *, customer: Sequence[str]) -> Iterator[str]:
        """What of the input an offer leaves unsaid, as sentences for the team."""
        if self.is_ambiguous:
            yield "The input names several things, and words alone do not tell which is which."
        for field in self.unsayable:
            yield f"Nothing in a conversation can confirm the field {field}."
        for name in self.names:
            if not words.names(offer, name):
                yield f"The question does not name “{name}”."
        for number in self.numbers:
            if number not in self.numbers_in(offer):
                yield f"The question does not name {number:g}."
        for choice in self.choices:
            if not _speaks_of(choice, offer):
                yield f"The question does not name “{choice}”."
        for reason in self.reasons:
            if not any(_speaks_of(reason, text) for text in (offer, *customer)):
                yield f"Neither the customer nor the question speaks of “{reason}”."

    def numbers_in(self, offer: str) -> set[Decimal]:
        """The numbers of an offer, apart from those inside the names."""
        for name in self.names:
            offer = re.sub(re.escape(name), " ", offer, flags=re.IGNORECASE)
        return words.numbers(offer)

    def is_repeated_in(self, earlier: str) -> bool:
        """Whether an earlier input, JSON text, was the same or about the same thing."""
        value = strict_json.loads(earlier)
        texts = [part for _, part in strict_json.walk(value) if isinstance(part, str)]
        return value == self.whole or any(words.names(text, name) for text in texts for name in self.names)


def read(material: Material) -> Named:
    """Take the request's input apart."""
    whole = strict_json.loads(material.input)
    names, numbers = dict[str, str](), dict[str, Decimal]()
    choices, reasons, unsayable = list[str](), list[str](), list[str]()
    for path, value in strict_json.walk(whole):
        if isinstance(value, dict | list):
            continue
        field = ".".join(map(str, path))
        if isinstance(value, bool) or value is None:
            unsayable.append(field)
        elif isinstance(value, str) and value in _listed(material.schema, path):
            (reasons if words.parts_of(field)[-1:] == ["reason"] else choices).append(value)
        elif isinstance(value, str):
            names[field] = value
        else:
            numbers[field] = Decimal(str(value))
    return Named(
        whole=whole,
        names=tuple(names.values()),
        numbers=tuple(numbers.values()),
        choices=tuple(choices),
        reasons=tuple(reasons),
        is_ambiguous=any(len({_kind(field) for field in fields}) > 1 for fields in (names, numbers)),
        unsayable=tuple(unsayable),
        covered=frozenset(part for field in (*names, *numbers) for part in words.parts_of(field)),
    )


def _kind(field: str) -> str:
    """The field without its places in lists: items.0 and items.1 are one kind."""
    return re.sub(r"\.?\b\d+\b", "", field)


def _speaks_of(choice: str, text: str) -> bool:
    return set(words.tokens(choice.replace("_", " "))) <= set(words.tokens(text))


def _listed(schema: str, path: tuple[strict_json.Step, ...]) -> list[Json]:
    """The choices that the schema gives for a field at the top of the input."""
    read = strict_json.loads(schema) if schema else {}
    properties = read.get("properties") if isinstance(read, dict) else None
    field = properties.get(str(path[0])) if isinstance(properties, dict) and len(path) == 1 else None
    listed = field.get("enum") if isinstance(field, dict) else None
    return listed if isinstance(listed, list) else []
