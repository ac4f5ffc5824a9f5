"""Schemas of an OpenAPI document as JSON Schemas that stand alone: references in place, 3.0 as 2020-12. Pure.

A document can make its references explode; a budget of parts, for one schema and for the document, ends that.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from median_site.lib.strict_json import Json
from tools import subschemas
from tools.subschemas import SchemaError

MAX_PARTS: Final = 4_000  # of one schema, its references put in place
MAX_DOCUMENT_PARTS: Final = 400_000
MAX_DEPTH: Final = 24
OPEN_FROM: Final = 6  # in a schema that is too large otherwise
MAX_HOPS: Final = 8  # a reference to a reference

# Of no meaning to a validator.
_DROPPED: Final = {"example", "examples", "xml", "discriminator", "externalDocs", "nullable", "readOnly", "writeOnly"}
_MAPS: Final = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
_DATA: Final = {"enum", "const", "default"}


class Unresolved(Exception):
    """A part of the document that cannot be used, said for the person who imports it."""


class _TooLarge(Unresolved):
    """A schema with more parts than a tool can use."""


class _Made(NamedTuple):
    """What a reference stands for, how many parts that has, how deep they go, and how many of them were cut."""

    schema: Json
    parts: int
    height: int
    cut: int


class Resolver:
    """Puts what references point at in their place, within the bounds. What it gives is shared: never change it."""

    def __init__(self, root: Mapping[str, Json]) -> None:
        self._root = root
        self._spent = 0
        self._found: dict[str, Json] = {}
        self._made: dict[str, _Made] = {}
        self._within: list[str] = []  # references that are being put in place just now
        self._cut = 0
        self._deepest = 0
        self._open_from = MAX_DEPTH  # how deep a reference is no longer put in place

    def target(self, part: Json) -> Json:
        """The part itself, or what its reference points at. Raises Unresolved."""
        for _ in range(MAX_HOPS):
            if not isinstance(part, dict) or "$ref" not in part:
                return part
            part = self._follow(part["$ref"])
        raise Unresolved("A reference points from one to the next without end.")

    def schema(self, part: Json) -> dict[str, Json]:
        """A schema that stands alone. Raises Unresolved.

        Where it refers to itself, any value of its type may stand; and in one that is too large or too deep, wherever
        it refers to another far inside.
        """
        try:
            made = self._whole(part, open_from=MAX_DEPTH)
            if isinstance(made, dict) and self._deepest >= subschemas.MAX_LEVELS:
                subschemas.survey(made)
        except (_TooLarge, SchemaError):
            made = self._whole(part, open_from=OPEN_FROM)
        if not isinstance(made, dict):
            raise Unresolved("It has no schema.")
        return made

    def _whole(self, part: Json, *, open_from: int) -> Json:
        self._within, self._open_from, self._deepest = [], open_from, 0
        return self._inline(part, depth=0, start=self._spent)

    def _inline(self, part: Json, *, depth: int, start: int) -> Json:
        if not isinstance(part, dict | list):
            return part
        self._spend(1 + len(part), depth=depth, start=start)
        if isinstance(part, list):
            return [self._inline(each, depth=depth + 1, start=start) for each in part]
        if "$ref" in part:
            return self._referred(part, depth=depth, start=start)
        made: dict[str, Json] = {}
        for key, held in part.items():
            cut = self._cut
            if key in _MAPS and isinstance(held, dict):
                sent = {name: each for name, each in held.items() if not _is_read_only(each)}
                if sent or not held:  # an object of which all is only read is left open
                    made[key] = {name: self._inline(each, depth=depth + 1, start=start) for name, each in sent.items()}
            elif key in _DATA:
                made[key] = held
            elif key not in _DROPPED and not key.startswith("x-"):
                made[key] = self._inline(held, depth=depth + 1, start=start)
            # What is open fits too much to be the only one that fits, or one that must not.
            if key in {"oneOf", "not"} and self._cut > cut:
                opened = made.pop(key)
                made |= {"anyOf": opened} if key == "oneOf" and "anyOf" not in part else {}
        return _modern(made, nullable=part.get("nullable") is True)

    def _referred(self, part: dict[str, Json], *, depth: int, start: int) -> Json:
        """What a reference stands for. Of its siblings only these two count."""
        beside = {key: value for key, value in part.items() if key in {"description", "nullable"}}
        target, ref = self.target(part), str(part["$ref"])
        if ref in self._within or depth >= self._open_from:
            self._cut += 1
            said = target.get("type") if isinstance(target, dict) else None
            target = {"type": said} if said else {}
        elif not beside and self._open_from == MAX_DEPTH:
            return self._once(ref, target, depth=depth, start=start)
        self._within.append(ref)
        made = self._inline({**target, **beside} if isinstance(target, dict) else target, depth=depth + 1, start=start)
        self._within.pop()
        return made

    def _once(self, ref: str, target: Json, *, depth: int, start: int) -> Json:
        """A reference put in place, made only the first time; it counts against the bounds each time."""
        if known := self._made.get(ref):
            self._spend(known.parts, depth=depth + known.height, start=start)
            self._cut += known.cut
            return known.schema
        cut, spent, deepest, self._deepest = self._cut, self._spent, self._deepest, depth
        self._within.append(ref)
        schema = self._inline(target, depth=depth + 1, start=start)
        self._within.pop()
        if self._cut == cut or not self._within:  # otherwise it is cut where only this place asks for it
            self._made[ref] = _Made(schema, self._spent - spent, self._deepest - depth, self._cut - cut)
        self._deepest = max(deepest, self._deepest)
        return schema

    def _spend(self, parts: int, *, depth: int, start: int) -> None:
        self._spent += parts
        self._deepest = max(self._deepest, depth)
        if self._spent > MAX_DOCUMENT_PARTS:
            raise Unresolved("The document is too large to be read in one go. Pick operations by a part of their path.")
        if depth > MAX_DEPTH or self._spent - start > MAX_PARTS:
            raise _TooLarge("A schema is too large.")

    def _follow(self, ref: Json) -> Json:
        if not isinstance(ref, str) or not ref.startswith("#/"):
            raise Unresolved("A reference points out of the document.")
        if ref not in self._found:
            try:
                self._found[ref] = subschemas.pointed_at(ref, root=self._root)
            except LookupError:
                raise Unresolved(f"{ref[:100]} is not in the document.") from None
        return self._found[ref]


def kinds(schema: Mapping[str, Json]) -> list[Json]:
    """The types that a schema names at its top."""
    said = schema.get("type")
    return said if isinstance(said, list) else [said]


def fields(schema: Mapping[str, Json]) -> tuple[dict[str, Json] | None, set[str]]:
    """The fields of an object and the names of the required ones, those of allOf put together; None if it is no object.

    A choice between several objects is none: a tool's parameters are one list.
    """
    held: dict[str, Json] = {}
    needed: set[str] = set()
    if "oneOf" in schema or "anyOf" in schema or not {*map(str, kinds(schema))} <= {"object", "null", "None"}:
        return None, needed
    own, required, parts = schema.get("properties"), schema.get("required"), schema.get("allOf")
    for part in parts if isinstance(parts, list) else []:
        more, also = fields(part) if isinstance(part, dict) else (None, set[str]())
        if more is None:
            return None, needed
        held = _together(held, more)
        needed |= also
    held = _together(held, own if isinstance(own, dict) else {})
    needed |= {str(name) for name in required} if isinstance(required, list) else set()
    return (held or None), needed & held.keys()


def _is_read_only(schema: Json) -> bool:
    return isinstance(schema, dict) and schema.get("readOnly") is True


def _together(held: dict[str, Json], more: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of both. Of one that both describe the later speaks, and the former where that is silent."""
    both = {name: _laid(held[name], said) for name, said in more.items() if name in held}
    return {**held, **more, **both}


def _laid(first: Json, then: Json) -> Json:
    if not (isinstance(first, dict) and isinstance(then, dict)):
        return then
    return {"allOf": [first, then]} if "properties" in first and "properties" in then else {**first, **then}


def _modern(schema: dict[str, Json], *, nullable: bool) -> dict[str, Json]:
    """What 3.0 says in its own way, as 2020-12 says it."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    said = schema.get("type")
    if nullable and isinstance(said, str):
        schema["type"] = [said, "null"]
        constants = schema.get("enum")
        if isinstance(constants, list) and None not in constants:
            schema["enum"] = [*constants, None]
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(required, list) and isinstance(properties, dict):
        schema["required"] = [name for name in required if name in properties]
    elif "required" in schema and not isinstance(required, list):
        del schema["required"]
    return schema
