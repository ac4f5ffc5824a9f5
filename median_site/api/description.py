"""The API's OpenAPI 3.1 description: what ninja reads off the operations, and the answers, errors and scopes beside it.
What is not described there is not taken either.

An operation's answer is described by the type that its function returns, so the two cannot drift apart.
"""

import re
from functools import cached_property
from http import HTTPStatus
from inspect import isclass
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI, Status
from ninja.openapi.schema import REF_TEMPLATE, OpenAPISchema
from ninja.operation import Operation
from pydantic import TypeAdapter

from median_site.api import answers
from median_site.api.gate import Scope
from median_site.lib import strict_json
from median_site.lib.errors import DomainError

SECURITY: Final = "apiKey"
BEARER: Final = {"type": "http", "scheme": "bearer", "description": "An API key, mdn_ and 40 characters."}
ERRORS: Final = {
    400: "The request cannot be read: its body is no JSON, or says something that cannot be kept.",
    401: "No API key, one that is not known, or one that was revoked.",
    403: "The key lacks the scope.",
    404: "Nothing is here, or it is another workspace's.",
    409: "It cannot be done as things stand; the message says why.",
    413: "The body is larger than is read here.",
    422: "A part of the request is not as described; `field` names it.",
    429: "Too many requests. Wait for as many seconds as `Retry-After` says.",
}
IDEMPOTENCY: Final = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "description": "The same request under the same key is done once; within a day it gets the first one's answer.",
}
Schema = dict[str, Any]  # a JSON document of ninja's and pydantic's making
_ROUTE_PART: Final = re.compile(r"<(?:\w+:)?(\w+)>")  # of Django's; a path of the description has {name}


class Api(NinjaAPI):
    """Ninja's, with the description below and short names of operations: `approvals_deny`."""

    def create_temporal_response(self, request: HttpRequest) -> HttpResponse:
        """Ninja asks for it once the key may do this, and before it reads the rest."""
        self._check_parameters(request)
        return super().create_temporal_response(request)

    def _check_parameters(self, request: HttpRequest) -> None:
        """A slip in a filter's name, or a second value of which one would be dropped, must not answer with more."""
        match = request.resolver_match
        path = "/" + _ROUTE_PART.sub(r"{\1}", match.route if match else "")
        known = self._parameters.get((path, request.method or ""), ())
        for name, values in request.GET.lists():
            if name not in known:
                self._refuse(name, f"There is no such parameter here. It takes {', '.join(known) or 'none'}.")
            if len(values) > 1:
                self._refuse(name, "Given more than once. It takes one value.")

    @staticmethod
    def _refuse(name: str, why: str) -> None:
        field = strict_json.visible(name)[0][:100] or "?"
        raise DomainError(f"{field}: {why}", code="invalid", status=422, field=field)

    @cached_property
    def _parameters(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """The names of the query's parameters, by path and method."""
        paths: dict[str, dict[str, Schema]] = self.get_openapi_schema()["paths"]
        return {
            (path, method.upper()): tuple(each["name"] for each in said.get("parameters", ()) if each["in"] == "query")
            for path, methods in paths.items()
            for method, said in methods.items()
        }

    def get_openapi_schema(self, *, path_prefix: str | None = None, path_params: Schema | None = None) -> OpenAPISchema:
        prefix = self.get_root_path(path_params or {}) if path_prefix is None else path_prefix
        return Description(self, prefix)

    def get_openapi_operation_id(self, operation: Operation) -> str:
        function = operation.view_func
        return f"{function.__module__.rpartition('.')[2]}_{function.__name__}"


class Description(OpenAPISchema):
    """OpenAPISchema asks these one by one while it is made."""

    def responses(self, operation: Operation) -> dict[int, Schema]:
        codes = [code for code in operation.response_models if isinstance(code, int)]
        described: dict[int, Schema] = {code: {"description": HTTPStatus(code).phrase} for code in codes}
        answer = _answer(get_type_hints(operation.view_func, include_extras=True)["return"])
        if answer is not None:
            described[codes[0]]["content"] = {"application/json": {"schema": self._schema(answer)}}
        errors = {401, 403, 422, 429}
        if "{" in operation.path:
            errors.add(404)
        if "GET" not in operation.methods:
            errors |= {400, 409, 413}
        for code in sorted(errors):
            described[code] = {"$ref": f"#/components/responses/{code}"}
        return described

    def operation_parameters(self, operation: Operation) -> list[Schema]:
        given: list[Schema] = super().operation_parameters(operation)
        for parameter in given:
            parameter["schema"] = _without_null(parameter["schema"])
        return [*given, IDEMPOTENCY] if "POST" in operation.methods else given

    def operation_security(self, operation: Operation) -> list[Schema]:
        return [{SECURITY: [scope.name]} for scope in operation.auth_callbacks if isinstance(scope, Scope)]

    def get_components(self) -> Schema:
        error = {"application/json": {"schema": self._schema(answers.Refusal)}}
        refused: Schema = {str(code): {"description": said, "content": error} for code, said in ERRORS.items()}
        refused["401"]["headers"] = {"WWW-Authenticate": {"schema": {"const": "Bearer"}}}
        refused["429"]["headers"] = {"Retry-After": {"schema": {"type": "string", "pattern": "^[0-9]+$"}}}
        components: Schema = super().get_components()
        return components | {"responses": refused, "securitySchemes": {SECURITY: BEARER}}

    def _schema(self, shape: Any) -> Schema:  # a type
        schema: Schema = TypeAdapter(shape).json_schema(mode="serialization", ref_template=REF_TEMPLATE)
        self.add_schema_definitions(schema.pop("$defs", {}))
        if get_origin(shape):  # a page of something has no name of its own
            return schema
        self.add_schema_definitions({shape.__name__: schema})
        return {"$ref": REF_TEMPLATE.format(model=shape.__name__)}


def _without_null(schema: Schema) -> Schema:
    """What a query can say: a parameter that is not given is not there, and `null` is a text."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return (
        {**{key: value for key, value in schema.items() if key != "anyOf"}, **choices[0]}
        if len(choices) == 1
        else schema
    )


def _answer(returned: object) -> object | None:
    """The shape in what a function says that it returns; None for one without a body, or with the bytes of a file."""
    if get_origin(returned) is Status:
        (returned,) = get_args(returned)
    if get_origin(returned) is Annotated and get_args(returned)[0] is HttpResponse:
        returned = get_args(returned)[1]
    bodiless = returned is type(None) or (isclass(returned) and issubclass(returned, HttpResponse))
    return None if bodiless else returned
