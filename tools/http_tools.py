"""Drafts of HTTP tools: writing, importing, removing them. Nobody is offered a draft; tool_versions publishes them."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from median_site.lib import clock, strict_json
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, existing
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from tools import addresses, http_checks, openapi, roster
from tools.http_checks import Fault
from tools.http_definitions import PLACEHOLDER, Definition, from_json
from tools.models import HttpTool, Tool
from tools.openapi import Operation, Unsupported

DRAFT_LIMIT: Final = 200


class InvalidDefinition(DomainError):
    """`faults` are all of them; the message and the field are the first one's."""

    code = "invalid_http_tool"
    status = 422

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(faults[0].message, field=faults[0].field)
        self.faults = faults


class TooManyDrafts(DomainError):
    code = "too_many_http_tools"
    message = f"A workspace has at most {DRAFT_LIMIT} HTTP tools. Remove one first."


class Imported(NamedTuple):
    """The operations that an import made drafts of, and those that it could not, with the reasons."""

    operations: list[Operation]
    unsupported: list[Unsupported]


def find(by: Actor, draft_id: str) -> HttpTool:
    """The draft, or NotFound when it is removed or another workspace's."""
    return existing(HttpTool.objects.filter(workspace_id=by.workspace_id, id=draft_id).first())


def draft_of(tool: Tool) -> HttpTool | None:
    """The draft that the next version of an HTTP tool is made from; None for a manifest tool or a removed draft."""
    drafts = HttpTool.objects.filter(workspace_id=tool.workspace_id, name=tool.name)
    return drafts.first() if tool.kind == "http" else None


def definition_of(draft: HttpTool) -> Definition:
    return from_json(strict_json.loads(draft.definition))


def check(raw: Mapping[str, Json], *, by: Actor, draft_id: str = "") -> tuple[Definition | None, list[Fault]]:
    """What http_checks.read gives, with the faults that only this installation knows. May wait 5 s for a host's name.

    `draft_id` is the draft that it would replace, "" for a new one.
    """
    definition, faults = http_checks.read(raw)
    name, url = str(raw.get("name") or "").strip(), str(raw.get("url") or "").strip()
    is_named = name and not any(fault.field == "name" for fault in faults)
    if is_named and (taken := _taken(name, by=by, draft_id=draft_id)):
        faults.append(taken)
    if not any(fault.field == "url" for fault in faults) and (unreachable := _unreachable(url)):
        faults.append(unreachable)
    return (None if faults else definition), faults


def save(raw: Mapping[str, Json], *, by: Actor, draft_id: str = "") -> HttpTool:
    """Check and store a draft, in place of `draft_id` if one is named. Raises InvalidDefinition, TooManyDrafts."""
    definition, faults = check(raw, by=by, draft_id=draft_id)
    if definition is None:
        raise InvalidDefinition(faults)
    return store(definition, by=by, draft_id=draft_id)


def store(definition: Definition, *, by: Actor, draft_id: str = "") -> HttpTool:
    """Store a definition that was checked. Raises NotFound, InvalidDefinition for a name taken since, TooManyDrafts."""
    with transaction.atomic():
        roster.lock(by.workspace_id)
        if taken := _taken(definition.name, by=by, draft_id=draft_id):
            raise InvalidDefinition([taken])
        if not draft_id and _free(by) <= 0:
            raise TooManyDrafts
        draft = find(by, draft_id) if draft_id else HttpTool(workspace_id=by.workspace_id)
        draft.name, draft.definition = definition.name, strict_json.dumps(definition.as_json())
        draft.changed_at = clock.now()
        draft.save()
        events.record(
            Kind.HTTP_TOOL_SAVED, by=by, subject_id=draft.id, tool_name=draft.name, data={"label": definition.label}
        )
    return draft


def remove(draft_id: str, *, by: Actor) -> None:
    """Remove a draft: the next version is without the tool. Raises NotFound."""
    with transaction.atomic():
        draft = find(by, draft_id)
        draft.delete()
        label = definition_of(draft).label
        events.record(Kind.HTTP_TOOL_REMOVED, by=by, subject_id=draft_id, tool_name=draft.name, data={"label": label})


def take_in(document: str | bytes, *, by: Actor, server: str = "", only: str = "") -> Imported:
    """Make drafts of an OpenAPI 3 document's operations; a draft that is there already is never changed.

    `server` stands in for a base URL that the document lacks; `only` picks operations whose id or path contains it.
    Raises openapi.NotOpenApi.
    """
    read = openapi.read(document, server=server, only=only)
    unreachable = {origin: _unreachable(origin) for origin in {_origin(each.definition) for each in read.operations}}
    unsupported = list(read.unsupported)
    taken: list[Operation] = []
    with transaction.atomic():
        roster.lock(by.workspace_id)
        free, faults = _free(by), _all_taken({operation.definition.name for operation in read.operations}, by=by)
        for operation in read.operations:
            fault = unreachable[_origin(operation.definition)] or faults.get(operation.definition.name)
            if fault or len(taken) >= free:
                reason = fault.message if fault else TooManyDrafts.message
                unsupported.append(Unsupported(operation.where, reason))
            else:
                taken.append(operation)
        HttpTool.objects.bulk_create(_draft(operation.definition, by=by) for operation in taken)
        if taken:
            names: list[Json] = [operation.definition.name for operation in taken]
            events.record(Kind.HTTP_TOOLS_IMPORTED, by=by, data={"tools": names})
    return Imported(taken, unsupported)


def _free(by: Actor) -> int:
    return DRAFT_LIMIT - HttpTool.objects.filter(workspace_id=by.workspace_id).count()


def _draft(definition: Definition, *, by: Actor) -> HttpTool:
    text = strict_json.dumps(definition.as_json())
    return HttpTool(workspace_id=by.workspace_id, name=definition.name, definition=text)


def _taken(name: str, *, by: Actor, draft_id: str = "") -> Fault | None:
    return _all_taken({name}, by=by, draft_id=draft_id).get(name)


def _all_taken(names: set[str], *, by: Actor, draft_id: str = "") -> dict[str, Fault]:
    """Which of these names a draft cannot have, and why; in two statements."""
    served = Tool.objects.filter(workspace_id=by.workspace_id, name__in=names, present=True, endpoint__removed_at=None)
    drafts = HttpTool.objects.filter(workspace_id=by.workspace_id, name__in=names).exclude(id=draft_id)
    by_endpoint = Fault("name", "An endpoint of this workspace serves a tool of this name.")
    by_draft = Fault("name", "Another HTTP tool has this name.")
    faults = dict.fromkeys(served.exclude(endpoint=None).values_list("name", flat=True), by_endpoint)
    return faults | dict.fromkeys(drafts.values_list("name", flat=True), by_draft)


def _unreachable(url: str) -> Fault | None:
    """Why calls must not go to the host of this URL."""
    try:
        addresses.check_url(PLACEHOLDER.sub("x", url), allowed_networks=settings.MEDIAN_ALLOWED_NETWORKS)
    except DomainError as error:
        return Fault("url", error.message)
    return None


def _origin(definition: Definition) -> str:
    parts = urlsplit(definition.url)
    return f"{parts.scheme}://{parts.netloc}/"
