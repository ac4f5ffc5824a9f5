"""The REST API: its routers, and every error in the one shape."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from ninja import Router
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from ninja.renderers import BaseRenderer

from median_site.api import (
    approvals,
    conversations,
    endpoints,
    events,
    gate,
    http_tools,
    runs,
    session_tokens,
    tools,
    webhooks,
)
from median_site.api.description import Api
from median_site.lib import strict_json
from median_site.lib.errors import DomainError


class ExactJson(BaseRenderer):
    """Numbers leave with the digits they came with, and never as NaN."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: object, *, response_status: int) -> str:
        return strict_json.dumps(data)  # type: ignore[arg-type]  # the shapes of median_site.api are JSON


class StrictJson(Parser):
    """A body is JSON as everywhere here: no NaN, no key twice, bounded depth, every digit kept."""

    def parse_body(self, request: HttpRequest) -> dict[str, object]:
        return strict_json.loads_unique(request.body)  # type: ignore[return-value]  # checked against the operation's schema


api = Api(
    title="Median",
    version="1",
    description="Requests, runs, tools, conversations and the log of one workspace. Send an API key as a bearer token.",
    renderer=ExactJson(),
    parser=StrictJson(),
    docs_url=None,
    urls_namespace="api",
    servers=[{"url": "/"}],
)
ROUTERS: Mapping[str, Router] = {
    "/tool-approvals": approvals.router,
    "/tool-runs": runs.router,
    "/tools": tools.router,
    "/tool-endpoints": endpoints.router,
    "/http-tools": http_tools.drafts,
    "/tool-versions": http_tools.versions,
    "/conversations": conversations.router,
    "/session-tokens": session_tokens.router,
    "/events": events.router,
    "/webhooks": webhooks.router,
    "/webhook-deliveries": webhooks.sent,
}
for prefix, router in ROUTERS.items():
    api.add_router(prefix, router, tags=[prefix.strip("/")])


@api.exception_handler(DomainError)
def refused(request: HttpRequest, error: DomainError) -> HttpResponse:
    return gate.error_response(error)


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    return gate.error_response(gate.invalid(error))


@api.exception_handler(HttpError)
def plain(request: HttpRequest, error: HttpError) -> HttpResponse:
    return gate.error_response(gate.plain(error))


@api.exception_handler(AuthenticationError)
def unauthorized(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return gate.error_response(gate.plain(error))
