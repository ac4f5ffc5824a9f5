"""Answers of the installation itself: is it up, whose "you" is it, which keys verify, may robots read it."""

from typing import Final

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from median_site.lib.errors import existing
from team import access
from team.models import Workspace
from tools import keys, signing

JWKS_MAX_AGE_S: Final = 300


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers, else 503: for load balancers and supervisors, so it says nothing else."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 1")
    except Error:
        return HttpResponse("The database does not answer.\n", status=503, content_type="text/plain")
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    return HttpResponse("User-agent: *\nDisallow: /\n", content_type="text/plain")


@require_safe
def me(request: HttpRequest) -> HttpResponse:
    """The one rule that is different for each session: where pages and pushes print a name, its owner reads "you"."""
    teammate = access.teammate_of(request)
    rules = ""
    if teammate:
        own = f'[data-by="{teammate.id}"]'
        # Among those who are here nobody sees themselves; that there is a draft, only its writer.
        rules = f'[data-here="{teammate.id}"] {{ display: none }}\n'
        rules += f'[data-writers~="{teammate.id}"] {{ display: inline }}\n'
        rules += f'[data-mentions~="{teammate.id}"] {{ background: var(--accent-soft) }}\n'
        rules += f"{own} > .by-name {{ display: none }}\n{own} > .by-you {{ display: inline }}\n"
    return HttpResponse(rules, content_type="text/css; charset=utf-8", headers={"Cache-Control": "private, no-store"})


@require_safe
def jwks(request: HttpRequest, slug: str) -> JsonResponse:
    """The workspace's public keys (RFC 7517), for companies that verify assertions and session tokens."""
    workspace = existing(Workspace.objects.filter(slug=slug).first())
    headers = {"Cache-Control": f"public, max-age={JWKS_MAX_AGE_S}", "Vary": "Accept-Encoding"}
    return JsonResponse(signing.jwks(keys.published(workspace.id)), headers=headers)
