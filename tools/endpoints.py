"""Endpoints and the switches of tools: adding, changing, rotating, removing, switching. No request leaves from here."""

import re
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.db import IntegrityError, transaction

from median_site.lib import clock, secrets
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, existing
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from tools import addresses, roster, signals, signing
from tools.models import Endpoint, EndpointKind, Tool

# For so long both secrets sign after a rotation.
OVERLAP: Final = timedelta(hours=24)
_TOKEN: Final = re.compile(r"[!-~]{1,2000}")


class EndpointExists(DomainError):
    code = "endpoint_exists"
    message = "This endpoint is in the list already."


class SameSecret(DomainError):
    code = "same_secret"
    message = "The endpoint has this secret already."
    status = 422


class BadToken(DomainError):
    code = "invalid_token"
    message = "A bearer token is up to 2,000 letters, digits and signs, without spaces."
    status = 422


def add(
    url: str, *, by: Actor, secret: str | None = None, kind: EndpointKind = EndpointKind.MANIFEST
) -> tuple[Endpoint, str]:
    """A new endpoint and its secret, which is shown this once. Raises DomainError with field "url" or "secret".

    The secret of an MCP server is the bearer token that it wants, if it wants one; none is made, and none shown.
    """
    url = addresses.check_url(url, allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS)
    secret = _token(secret) if kind == EndpointKind.MCP else _given_or_new(secret)
    with transaction.atomic():
        sealed = secrets.seal(secret) if secret else ""
        row = Endpoint(workspace_id=by.workspace_id, url=url, kind=kind, sealed_secret=sealed)
        inserted = Endpoint.objects.bulk_create([row], ignore_conflicts=True)
        endpoint = Endpoint.objects.filter(workspace_id=by.workspace_id, id=inserted[0].id).first()
        if endpoint is None:
            raise EndpointExists(field="url")
        events.record(Kind.ENDPOINT_ADDED, by=by, subject_id=endpoint.id, data={"url": url})
    return endpoint, "" if kind == EndpointKind.MCP else secret


def find(by: Actor, endpoint_id: str) -> Endpoint:
    """The endpoint, unless it is removed or another workspace's: then NotFound."""
    return existing(Endpoint.objects.filter(workspace_id=by.workspace_id, id=endpoint_id, removed_at=None).first())


def change_url(endpoint_id: str, *, url: str, by: Actor) -> Endpoint:
    """Serve its tools from another address from now on. To the same one changes nothing. Errors as of `add`."""
    find(by, endpoint_id)
    url = addresses.check_url(url, allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS)
    try:
        with transaction.atomic():
            endpoint = _locked(by, endpoint_id)
            if endpoint.url != url:
                data: dict[str, Json] = {"url": url, "was": endpoint.url, "what": "url"}
                endpoint.url, endpoint.etag = url, ""
                endpoint.save(update_fields=["url", "etag"])
                events.record(Kind.ENDPOINT_CHANGED, by=by, subject_id=endpoint.id, data=data)
    except IntegrityError:
        raise EndpointExists(field="url") from None
    return endpoint


def rotate_secret(endpoint_id: str, *, by: Actor, secret: str | None = None) -> tuple[Endpoint, str]:
    """A new secret, shown this once; the one it replaces signs beside it for a day. A still older one ends now.

    An MCP server's bearer token is replaced at once, by none when none is given. Raises SecretError, SameSecret or
    BadToken, field "secret", for a given one that may not be used.
    """
    if find(by, endpoint_id).kind == EndpointKind.MCP:
        return _replace_token(endpoint_id, by=by, token=_token(secret)), ""
    secret = _given_or_new(secret)
    with transaction.atomic():
        endpoint = _locked(by, endpoint_id)
        if secret == secrets.unseal(endpoint.sealed_secret):
            raise SameSecret(field="secret")
        endpoint.sealed_old_secret, endpoint.old_secret_until = endpoint.sealed_secret, clock.now() + OVERLAP
        endpoint.sealed_secret, endpoint.etag = secrets.seal(secret), ""
        endpoint.save(update_fields=["sealed_old_secret", "old_secret_until", "sealed_secret", "etag"])
        data: dict[str, Json] = {"url": endpoint.url, "what": "secret"}
        events.record(Kind.ENDPOINT_CHANGED, by=by, subject_id=endpoint.id, data=data)
    return endpoint, secret


def _replace_token(endpoint_id: str, *, by: Actor, token: str) -> Endpoint:
    with transaction.atomic():
        endpoint = _locked(by, endpoint_id)
        endpoint.sealed_secret = secrets.seal(token) if token else ""
        endpoint.save(update_fields=["sealed_secret"])
        data: dict[str, Json] = {"url": endpoint.url, "what": "secret"}
        events.record(Kind.ENDPOINT_CHANGED, by=by, subject_id=endpoint.id, data=data)
    return endpoint


def stop_old_secret(endpoint_id: str, *, by: Actor) -> Endpoint:
    """End a rotation now: the old secret signs nothing more. Without one changes nothing."""
    with transaction.atomic():
        endpoint = _locked(by, endpoint_id)
        if endpoint.is_rotating:
            data: dict[str, Json] = {"url": endpoint.url, "what": "old_secret_stopped"}
            events.record(Kind.ENDPOINT_CHANGED, by=by, subject_id=endpoint.id, data=data)
        endpoint.sealed_old_secret, endpoint.old_secret_until = "", None
        endpoint.save(update_fields=["sealed_old_secret", "old_secret_until"])
    return endpoint


def forget_old_secrets() -> int:
    """Erase the secrets whose day is over. Gives how many."""
    over = Endpoint.objects.filter(old_secret_until__lte=clock.now())
    return over.update(sealed_old_secret="", old_secret_until=None)


def remove(endpoint_id: str, *, by: Actor) -> None:
    """Take the endpoint and its tools out of use; requests that wait on it expire. A second time: NotFound."""
    with transaction.atomic():
        roster.lock(by.workspace_id)
        endpoint = _locked(by, endpoint_id)
        Endpoint.objects.filter(id=endpoint.id).update(removed_at=clock.now(), sync_due_at=None)
        Tool.objects.filter(endpoint=endpoint).update(present=False)
        events.record(Kind.ENDPOINT_REMOVED, by=by, subject_id=endpoint.id, data={"url": endpoint.url})
        signals.endpoint_removed.send(sender=Endpoint, endpoint=endpoint)


def switch(tool_name: str, *, by: Actor, on: bool) -> Tool:
    """Switch a tool on or off for the agent and the team. Again changes nothing. Raises TooManySwitchedOn."""
    with transaction.atomic():
        roster.lock(by.workspace_id)
        tool = existing(Tool.objects.select_for_update().filter(workspace_id=by.workspace_id, name=tool_name).first())
        if tool.switched_on != on:
            if on and roster.free(by.workspace_id) < 1:
                raise roster.TooManySwitchedOn
            tool.switched_on = on
            tool.save(update_fields=["switched_on"])
            data: dict[str, Json] = {"label": tool.label, "on": on}
            events.record(Kind.TOOL_SWITCHED, by=by, subject_id=tool.id, tool_name=tool.name, data=data)
    return tool


def signing_secrets(endpoint: Endpoint) -> list[str]:
    """The secrets that sign now: the current one, and during a rotation the old one beside it."""
    held = [secrets.unseal(endpoint.sealed_secret)]
    if endpoint.is_rotating:
        held.append(secrets.unseal(endpoint.sealed_old_secret))
    return held


def bearer_token(endpoint: Endpoint) -> str:
    """What an MCP server wants as the bearer; empty when it wants nothing."""
    return secrets.unseal(endpoint.sealed_secret) if endpoint.sealed_secret else ""


def _token(given: str | None) -> str:
    token = (given or "").strip()
    if token and not _TOKEN.fullmatch(token):
        raise BadToken(field="secret")
    return token


def _given_or_new(secret: str | None) -> str:
    if secret is None:
        return signing.new_secret()
    signing.parse_secret(secret)
    return secret


def _locked(by: Actor, endpoint_id: str) -> Endpoint:
    rows = Endpoint.objects.select_for_update(no_key=True)
    return existing(rows.filter(workspace_id=by.workspace_id, id=endpoint_id, removed_at=None).first())
