"""/v1/tool-endpoints: the URLs that a company serves its tools from."""

from ninja import Router, Status

from median_site.api import answers, gate, inputs, listing, shapes
from median_site.api.gate import KeyRequest
from tools import calls, endpoints, sync
from tools.models import Endpoint, EndpointKind

router = Router()


@router.get("", auth=gate.Scope("read"), summary="List endpoints")
def index(request: KeyRequest) -> answers.Page[answers.Endpoint]:
    rows = Endpoint.objects.filter(workspace_id=request.key.workspace_id, removed_at=None).order_by("created_at")
    return listing.whole([shapes.endpoint(row) for row in rows])


@router.get("/{endpoint_id}", auth=gate.Scope("read"), summary="Read one endpoint")
def read(request: KeyRequest, endpoint_id: str) -> answers.Endpoint:
    return shapes.endpoint(endpoints.find(gate.actor(request.key), endpoint_id))


@router.post("", auth=gate.Scope("manage"), summary="Add an endpoint and sync it", response={201: dict})
def add(request: KeyRequest, payload: inputs.NewEndpoint) -> Status[answers.Endpoint]:
    """The secret is in this answer and in no other."""
    by = gate.actor(request.key)
    added, secret = endpoints.add(payload.url, by=by, secret=payload.secret, kind=EndpointKind(payload.kind))
    calls.run_now(sync.run, added.id, by=by)
    return Status(201, shapes.endpoint(endpoints.find(by, added.id), secret=secret))


@router.post("/{endpoint_id}/sync", auth=gate.Scope("manage"), summary="Fetch the manifest now")
def sync_now(request: KeyRequest, endpoint_id: str) -> answers.Endpoint:
    """For a deploy script. The answer's `failure` says why it did not work, if it did not."""
    by = gate.actor(request.key)
    calls.run_now(sync.run, endpoints.find(by, endpoint_id).id, by=by)
    return shapes.endpoint(endpoints.find(by, endpoint_id))


@router.patch("/{endpoint_id}", auth=gate.Scope("manage"), summary="Change the URL and sync")
def change(request: KeyRequest, endpoint_id: str, payload: inputs.EndpointUrl) -> answers.Endpoint:
    by = gate.actor(request.key)
    endpoints.change_url(endpoint_id, url=payload.url, by=by)
    return sync_now(request, endpoint_id)


@router.post("/{endpoint_id}/rotate-secret", auth=gate.Scope("manage"), summary="A new secret beside the old one")
def rotate_secret(request: KeyRequest, endpoint_id: str, payload: inputs.NewSecret | None = None) -> answers.Endpoint:
    """Both sign for 24 hours. The new secret is in this answer and in no other."""
    by = gate.actor(request.key)
    _, secret = endpoints.rotate_secret(endpoint_id, by=by, secret=payload.secret if payload else None)
    calls.run_now(sync.run, endpoint_id, by=by)
    return shapes.endpoint(endpoints.find(by, endpoint_id), secret=secret)


@router.delete("/{endpoint_id}", auth=gate.Scope("manage"), summary="Remove it and its tools", response={204: None})
def remove(request: KeyRequest, endpoint_id: str) -> Status[None]:
    """Requests that wait on its tools expire."""
    endpoints.remove(endpoint_id, by=gate.actor(request.key))
    return Status(204, None)
