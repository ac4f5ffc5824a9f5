"""`/v1/docs`: the API for people, made from its OpenAPI description and from nothing else. Pure but for the page."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from median_site.api.app import api

Schema = dict[str, Any]  # a part of the description
PREFIX: Final = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a body or an answer. `kind` is words; `shape` the name of a shape it leads to."""

    name: str
    kind: str
    shape: str
    is_required: bool
    says: str


@dataclass(frozen=True, slots=True)
class Call:
    """One operation."""

    id: str
    method: str
    path: str
    summary: str
    says: str
    scope: str
    parameters: list[Field]
    body: list[Field]
    status: str
    answer: Field | None
    errors: list[str]
    example: str


@dataclass(frozen=True, slots=True)
class Reference:
    """Calls by group, the shapes that they answer with, and what each error status means."""

    groups: dict[str, list[Call]]
    shapes: dict[str, list[Field]]
    about: dict[str, str]
    errors: dict[str, str]


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "site/api.html", {"reference": reference()})


@cache
def reference() -> Reference:
    described = json.loads(json.dumps(api.get_openapi_schema(path_prefix="/v1/")))
    schemas = described["components"]["schemas"]
    groups: dict[str, list[Call]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append(_call(method, path, operation, schemas))
    answered = _reached({call.answer.shape for calls in groups.values() for call in calls if call.answer}, schemas)
    return Reference(
        groups=groups,
        shapes={name: _fields(schemas[name]) for name in sorted(answered)},
        about={name: schemas[name].get("description", "") for name in answered},
        errors={code: said["description"] for code, said in described["components"]["responses"].items()},
    )


def _call(method: str, path: str, operation: Schema, schemas: Schema) -> Call:
    body = _content(operation.get("requestBody", {}))
    given = body and _resolved(body, schemas)
    (status, answer), *_ = operation["responses"].items()
    shown = _content(answer)
    return Call(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        says=operation.get("description", ""),
        scope=operation["security"][0]["apiKey"][0],
        parameters=[
            _field(each["name"], each["schema"], required=each["required"], says=each.get("description", ""))
            for each in operation["parameters"]
        ],
        body=_fields(given or {}),
        status=status,
        answer=_field("", shown, required=True) if shown else None,
        errors=[code for code in operation["responses"] if code >= "400"],
        example=_example(method.upper(), path, given),
    )


def _content(part: Schema) -> Schema:
    (content,) = part.get("content", {"": {}}).values()
    found: Schema = content.get("schema", {})
    return found


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    """The schema itself, behind a reference and beside null."""
    for each in [schema, *schema.get("anyOf", [])]:
        if "$ref" in each:
            found: Schema = schemas[each["$ref"].removeprefix(PREFIX)]
            return found
    return schema


def _fields(schema: Schema) -> list[Field]:
    required = schema.get("required", [])
    return [
        _field(name, each, required=name in required, says=each.get("description", ""))
        for name, each in schema.get("properties", {}).items()
    ]


def _field(name: str, schema: Schema, *, required: bool, says: str = "") -> Field:
    return Field(name, _kind(schema), _shape(schema), required, says)


def _kind(schema: Schema) -> str:
    """In words: "string", "list of Item", "approved or denied", "integer or null"."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(PREFIX)
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(str(word) for word in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if "data" in schema.get("properties", {}):
        return f"page with a {_kind(schema['properties']['data'])}"
    return str(schema.get("format", "")).replace("date-time", "time") or str(schema.get("type", "any JSON value"))


def _shape(schema: Schema) -> str:
    """The name of the shape somewhere in it, if there is one."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(PREFIX)
    inside = [*schema.get("anyOf", []), schema.get("items", {}), schema.get("properties", {}).get("data", {})]
    return next((name for each in inside if each and (name := _shape(each))), "")


def _reached(names: set[str], schemas: Schema) -> set[str]:
    """These shapes and those that their fields lead to."""
    reached: set[str] = set()
    waiting = {name for name in names if "properties" in schemas.get(name, {})}
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= {field.shape for field in _fields(schemas[name]) if field.shape} - reached
    return reached


def _example(method: str, path: str, body: Schema | None) -> str:
    """A command for a shell that has MEDIAN_URL and MEDIAN_API_KEY."""
    words = ["curl"] if method == "GET" else ["curl", "-X", method]
    words += [f'"{settings.MEDIAN_URL}{path}"', "-H", '"Authorization: Bearer $MEDIAN_API_KEY"']
    if body and body.get("properties"):
        if "file" in body["properties"]:
            return " ".join([*words, "-F", "file=@lid.png"])
        needed = {name: _sample(body["properties"][name]) for name in body.get("required", [])}
        words += ["-H", '"Content-Type: application/json"', "-d", f"'{json.dumps(needed)}'"]
    return " ".join(words)


def _sample(schema: Schema) -> object:
    if "$ref" in schema:
        return {"subject": "user_123"}
    return {"object": {}, "array": [], "boolean": True, "integer": 1}.get(str(schema.get("type")), "…")
