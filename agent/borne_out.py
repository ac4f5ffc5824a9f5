"""What a model may say of a tool's result: values as they stand there, in words of the tool and of its fields. Pure.

A line that claims, rounds or leaves out a "not" is not borne out, whatever the model meant by it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from tools import values

_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
# Words that join others and say nothing themselves.
_JOINING: Final = frozenset(
    {"a", "an", "and", "are", "as", "at", "back", "been", "by", "for", "from", "has", "have", "in", "into", "is", "it"}
    | {"its", "of", "on", "the", "this", "to", "was", "were", "with"}
)
_PUNCTUATION: Final = frozenset(".,:;()·–—-\"'“”‘’#")
_DENIAL: Final = re.compile(
    r"\b(?:no|not|none|never|nothing|cannot|without|fail\w*|den(?:y|ied)|declin\w*|reject\w*|error)\b|n['’]t\b", re.I
)
# Fields that say how it went, and what they say when all went well.
_OUTCOMES: Final = frozenset({"status", "state", "result", "outcome"})
_WELL: Final = frozenset({"ok", "success", "successful", "succeeded", "done", "complete", "completed"})


@dataclass(frozen=True, slots=True)
class Leaf:
    """A plain value of a result; `words` are those of the fields that lead to it, lower case."""

    value: Json
    words: frozenset[str]
    label: str

    @property
    def spelled(self) -> str:
        return self.value if isinstance(self.value, str) else strict_json.dumps(self.value)

    @property
    def denies(self) -> bool:
        return self.value is False or (isinstance(self.value, str) and _DENIAL.search(self.value) is not None)


def leaves(result: Json) -> list[Leaf]:
    """Every plain value of a result but null and empty text, in order."""
    return list(_leaves(result, ()))


def headline(line: str, *, tool: str, found: Sequence[Leaf]) -> bool:
    """Whether the result bears a headline out: whole values, the tool's words, and words of fields that it gives the
    value of or that are true."""
    rest, given = line, list[Leaf]()
    for leaf in sorted(found, key=lambda leaf: -len(leaf.spelled)):
        without = _without(rest, leaf)
        if without != rest or _without(line, leaf) != line:
            given.append(leaf)
        rest = without
    if any(_is_outcome(leaf) and leaf not in given for leaf in found):
        return False
    fields = {word for leaf in found if leaf.value is True or leaf in given for word in leaf.words}
    forms = () if any(leaf.denies for leaf in found) else _words(tool)
    known = {*_JOINING, *_PUNCTUATION, *_words(tool), *fields}
    return all(word in known or any(_is_form(word, of=verb) for verb in forms) for word in _words(rest))


def label(line: str, *, tool: str, leaf: Leaf) -> str:
    """The label of a row, when its words are the field's and the tool's; else the field's own name in words."""
    known = {*_JOINING, *_PUNCTUATION, *_words(tool), *leaf.words}
    return line if line.strip() and set(_words(line)) <= known else leaf.label


def likest(found: Sequence[Leaf], *, to: str) -> Leaf:
    """Of leaves with one value, the one whose field a label most probably means."""
    return max(found, key=lambda leaf: len(leaf.words & set(_words(to))))


def _leaves(value: Json, path: tuple[str, ...]) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value, start=1):
            yield from _leaves(part, (*path, str(place)))
    elif value is not None and value != "":
        words = frozenset(word for key in path if not key.isdigit() for word in _words(values.label_of(key)))
        yield Leaf(value, words, values.label_of("_".join(path)) or " ".join(path) or "Value")


def _without(line: str, leaf: Leaf) -> str:
    """The line without a value that stands in it as a whole. True and false are no words of a headline."""
    if isinstance(leaf.value, bool):
        return line
    as_headline = leaf.spelled[:1].upper() + leaf.spelled[1:]
    spelled = f"(?:{re.escape(leaf.spelled)}|{re.escape(as_headline)})"
    return re.sub(rf"(?<![^\s(\"'“‘]){spelled}(?![^\s)\"'”’.,:;!?])(?![.,:]\d)", " ", line)


def _is_outcome(leaf: Leaf) -> bool:
    return isinstance(leaf.value, str) and bool(leaf.words & _OUTCOMES) and leaf.value.lower() not in _WELL


def _is_form(word: str, *, of: str) -> bool:
    """Refunded is a form of refund, cancelled of cancel, moved of move."""
    return len(of) > 2 and word.startswith(of[:-1] if of.endswith("e") else of) and len(word) <= len(of) + 3


def _words(line: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(line)]
