"""Endpoints and the switches of their tools: adding, rotating, removing, switching. No request leaves from here."""

from django.conf import settings
from django.db import transaction

from median_site.lib import clock, secrets
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, NotFound
from team import events
from team.events import Kind
from tools import addresses, signals, signing
from tools.models import Endpoint, Tool


class EndpointExists(DomainError):
    code = "endpoint_exists"
    message = "This endpoint is in the list already."


def add(url: str, *, by: Actor, secret: str | None = None) -> tuple[Endpoint, str]:
    """A new endpoint and its secret, which is shown this once. Raises DomainError with field "url" or "secret"."""
    url = addresses.check_url(url, allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS)
    secret = secret or signing.new_secret()
    signing.parse_secret(secret)
    with transaction.atomic():
        row = Endpoint(workspace_id=by.workspace_id, url=url, sealed_secret=secrets.seal(secret))
        inserted = Endpoint.objects.bulk_create([row], ignore_conflicts=True)
        endpoint = Endpoint.objects.filter(workspace_id=by.workspace_id, id=inserted[0].id).first()
        if endpoint is None:
            raise EndpointExists(field="url")
        events.record(Kind.ENDPOINT_ADDED, by=by, subject_id=endpoint.id, data={"url": url})
    return endpoint, secret


def find(by: Actor, endpoint_id: str) -> Endpoint:
    """The endpoint, unless it is removed or another workspace's: then NotFound."""
    found = Endpoint.objects.filter(workspace_id=by.workspace_id, id=endpoint_id, removed_at=None).first()
    if found is None:
        raise NotFound
    return found


def remove(endpoint_id: str, *, by: Actor) -> None:
    """Take the endpoint and its tools out of use; requests that wait on it expire. Again changes nothing."""
    with transaction.atomic():
        endpoint = find(by, endpoint_id)
        removed = Endpoint.objects.filter(id=endpoint.id, removed_at=None).update(removed_at=clock.now())
        if removed:
            Tool.objects.filter(endpoint=endpoint).update(present=False)
            events.record(Kind.ENDPOINT_REMOVED, by=by, subject_id=endpoint.id, data={"url": endpoint.url})
            signals.endpoint_removed.send(sender=Endpoint, endpoint=endpoint)


def switch(tool_name: str, *, by: Actor, on: bool) -> Tool:
    """Switch a tool on or off for the agent and the team. Again changes nothing."""
    with transaction.atomic():
        tool = Tool.objects.select_for_update().filter(workspace_id=by.workspace_id, name=tool_name).first()
        if tool is None:
            raise NotFound
        if tool.switched_on != on:
            tool.switched_on = on
            tool.save(update_fields=["switched_on"])
            events.record(
                Kind.TOOL_SWITCHED, by=by, subject_id=tool.id, tool_name=tool.name, data={"label": tool.label, "on": on}
            )
    return tool


def signing_secrets(endpoint: Endpoint) -> list[str]:
    """The secrets that sign now: the current one, and during a rotation the old one beside it."""
    held = [secrets.unseal(endpoint.sealed_secret)]
    if endpoint.sealed_old_secret and endpoint.old_secret_until and endpoint.old_secret_until > clock.now():
        held.append(secrets.unseal(endpoint.sealed_old_secret))
    return held
