"""A made-up OpenAPI description of about a megabyte, as companies' are: much of it says what comes back."""

import json

from median_site.lib.strict_json import Json

RESOURCES = 45
FIELDS = 12
WORDS = "What it is, when it changes, and who may see it."


def description(version: int) -> str:
    """225 operations on 45 resources; another version shares no parameter and no field with it."""
    schemas: dict[str, Json] = {"Money": _money()}
    paths: dict[str, Json] = {}
    for n in range(RESOURCES):
        schemas |= {f"Resource{n}": _resource(n, version), f"Input{n}": _resource(n, version, fields=FIELDS // 2)}
        paths |= _paths(n)
    parameters = {"Limit": _parameter("limit", f"At most so many, {version}."), "After": _parameter("after", WORDS)}
    return json.dumps(
        {
            "openapi": "3.0.3",
            "info": {"title": "Shop", "version": str(version)},
            "servers": [{"url": "https://api.shop.example/v1"}],
            "paths": paths,
            "components": {"schemas": schemas, "parameters": parameters},
        }
    )


def _money() -> Json:
    return {
        "type": "object",
        "required": ["amount", "currency"],
        "properties": {"amount": {"type": "integer"}, "currency": {"type": "string", "enum": ["eur", "usd"]}},
    }


def _resource(n: int, version: int, *, fields: int = FIELDS) -> Json:
    said: dict[str, Json] = {
        f"field{at}": {"type": ("string", "integer", "boolean")[at % 3], "description": f"{n}.{at}.{version} {WORDS}"}
        for at in range(fields)
    }
    price: Json = {"$ref": "#/components/schemas/Money"}
    return {"type": "object", "required": ["field0", "price"], "properties": said | {"price": price}}


def _parameter(name: str, words: str) -> Json:
    return {"name": name, "in": "query", "description": words, "schema": {"type": "string"}}


def _paths(n: int) -> dict[str, Json]:
    by_id: Json = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    page: list[Json] = [{"$ref": f"#/components/parameters/{name}"} for name in ("Limit", "After")]
    body: Json = {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/Input{n}"}}},
    }
    return {
        f"/resources{n}": {
            "get": _operation(n, "list", parameters=page),
            "post": _operation(n, "create", requestBody=body),
        },
        f"/resources{n}/{{id}}": {
            "parameters": [by_id],
            "get": _operation(n, "get"),
            "patch": _operation(n, "change", requestBody=body),
            "delete": _operation(n, "remove"),
        },
    }


def _operation(n: int, verb: str, **more: Json) -> Json:
    data: Json = {"type": "array", "items": {"$ref": f"#/components/schemas/Resource{n}"}}
    links: dict[str, Json] = {
        name: {"type": "string", "description": WORDS, "nullable": True} for name in ("first", "next", "last")
    }
    schema: Json = {"type": "object", "properties": {"data": data, "links": {"type": "object", "properties": links}}}
    answer: Json = {"application/json": {"schema": schema, "example": {"data": [], "links": {"next": None}}}}
    return {
        "operationId": f"{verb}Resource{n}",
        "summary": f"{verb.title()} resource {n}",
        "description": WORDS * 4,
        "responses": {
            status: {"description": WORDS, "content": answer} for status in ("200", "400", "401", "403", "404", "500")
        },
        **more,
    }
