"""Which schemas speak of each part of a value, and what they say of it together. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import repeat
from typing import Final

import jsonschema_rs

from median_site.lib.strict_json import Json
from tools import subschemas

PATTERNS: Final = jsonschema_rs.RegexOptions(size_limit=2_000_000)  # linear time; bytes of one compiled pattern
_OTHERS: Final = ("additionalProperties", "unevaluatedProperties")


class Spoken:
    """The schemas that speak of one value, in such an order that many keys and items cost little.

    What a part of the value hears is made once: a list's items, and the objects in them, ask for the same.
    """

    def __init__(
        self, schemas: Iterable[dict[str, Json]], *, root: dict[str, Json], made: "dict[tuple[int, ...], Spoken]"
    ) -> None:
        self._root, self._made = root, made
        self._schemas = list(schemas)
        self.types = {kind for each in self._schemas for kind in _types(each)}
        self.declares_keys = any("properties" in each for each in self._schemas)
        self._named: dict[str, list[Json]] = {}
        for each in self._schemas:
            for name, said in _properties(each).items():
                self._named.setdefault(name, []).append(said)
        self._by_name: dict[str, Spoken] = {}
        self._wider = [each for each in self._schemas if {"patternProperties", *_OTHERS} & each.keys()]
        firsts = [first for each in self._schemas if isinstance(first := each.get("prefixItems"), list)]
        self._first_items = max(map(len, firsts), default=0)

    @classmethod
    def of(cls, root: dict[str, Json]) -> "Spoken":
        """Of a whole value, whose schema this is."""
        return cls(subschemas.in_place(root, root=root), root=root, made={})

    def of_key(self, key: str) -> "Spoken | None":
        """What is said of the value under a key; None where nothing declares it."""
        if key in self._by_name:
            return self._by_name[key]
        found = [*self._named.get(key, ()), *(said for each in self._wider for said in _beyond(each, key))]
        made = self._together(found) if found else None
        if made and key in self._named:
            self._by_name[key] = made
        return made

    def of_items(self, count: int) -> Iterator["Spoken"]:
        """What is said of each item of a list."""
        for at in range(min(count, self._first_items)):
            yield self._together([said for each in self._schemas for said in _of_item(each, at)])
        if count > self._first_items:
            rest = self._together([said for each in self._schemas for said in _of_item(each, self._first_items)])
            yield from repeat(rest, count - self._first_items)

    def _together(self, schemas: list[Json]) -> "Spoken":
        key = tuple(map(id, schemas))
        if key not in self._made:
            parts = subschemas.in_place(*schemas, root=self._root)
            self._made[key] = Spoken(parts, root=self._root, made=self._made)
        return self._made[key]


def _properties(schema: Mapping[str, Json]) -> dict[str, Json]:
    held = schema.get("properties")
    return held if isinstance(held, dict) else {}


def _beyond(schema: Mapping[str, Json], key: str) -> list[Json]:
    """What the schema says of a key by its patterns, or by what holds for all keys that it does not name."""
    patterns = schema.get("patternProperties")
    by_pattern = patterns.items() if isinstance(patterns, dict) else ()
    found = [said for pattern, said in by_pattern if _pattern(pattern).is_valid(key)]
    if found or key in _properties(schema):
        return found
    return [schema[word] for word in _OTHERS if schema.get(word, False) is not False]  # false declares nothing


def _of_item(schema: Mapping[str, Json], at: int) -> list[Json]:
    first = schema.get("prefixItems")
    if isinstance(first, list) and at < len(first):
        return [first[at]]
    return [schema.get("items"), schema.get("unevaluatedItems")]


def _types(schema: Mapping[str, Json]) -> list[str]:
    said = schema.get("type")
    return [str(kind) for kind in (said if isinstance(said, list) else [said])]


@lru_cache(maxsize=512)
def _pattern(pattern: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=PATTERNS)
