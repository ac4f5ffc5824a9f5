"""Making the stored tools say what a manifest says. The switches stay the team's. Nothing is fetched here."""

import re
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from median_site.lib import strict_json
from median_site.lib.actors import Actor
from median_site.lib.strict_json import Json
from tools import differences, rating, roster, sync_log
from tools.differences import Content
from tools.manifest import Manifest, ManifestTool, RefusedTool
from tools.models import Endpoint, EndpointSync, Tool

_ETAG: Final = re.compile(r'(W/)?"[!#-~]{0,190}"')
FILLED: Final = ["endpoint", "definition", "label", "description", "risk", "input_schema", "session_start", "requires",
                  "extra", "content_hash", "present", "switched_on", "served_risk", "risk_set_by",
                  "risk_set_at"]  # fmt: skip


def store(endpoint: Endpoint, served: Manifest, *, row: EndpointSync, by: Actor, etag: str = "") -> EndpointSync:
    """Store a manifest and end its sync, in the caller's transaction, which holds `roster.lock`.

    The statements are as many for a hundred tools as for one.
    """
    plan = _plan(endpoint, served)
    Tool.objects.filter(id__in=plan.gone).update(present=False)
    # One INSERT … ON CONFLICT: bulk_update takes ten times as long to write its statement as the database to run it.
    Tool.objects.bulk_create(plan.filled, update_conflicts=True, unique_fields=["id"], update_fields=FILLED)
    refused: list[Json] = [
        {"name": tool.name, "path": tool.path, "reason": tool.reason, "code": code} for tool, code in plan.refused
    ]
    # An answer that was not taken whole is asked for again: what stood in its way may be gone by then.
    tag = etag if _ETAG.fullmatch(etag) and not refused else ""
    stored: dict[str, Json] = {"etag": tag, "sdk": served.sdk[:100], "refused": refused}
    return sync_log.succeeded(row, by=by, changes=plan.changes, stored=stored)


@dataclass(slots=True)
class _Plan:
    """What is to be written: rows that are new or changed, ids of those that are gone; and how it is told."""

    filled: list[Tool]
    gone: list[str]
    refused: list[tuple[RefusedTool, str]]
    changes: list[dict[str, Json]]


def _plan(endpoint: Endpoint, served: Manifest) -> _Plan:
    names = {tool.name for tool in served.tools}
    rows = Tool.objects.filter(
        Q(endpoint=endpoint, present=True) | Q(name__in=names), workspace_id=endpoint.workspace_id
    )
    stored = {tool.name: tool for tool in rows}
    gone = [row for row in stored.values() if row.endpoint_id == endpoint.id and row.present and row.name not in names]
    plan = _Plan([], [row.id for row in gone], [(tool, tool.code) for tool in served.refused], [])
    free = roster.free(endpoint.workspace_id) + sum(row.switched_on for row in gone)
    taken = {name: row for name, row in stored.items() if row.present and row.endpoint_id != endpoint.id}
    owners = Endpoint.objects.in_bulk({row.endpoint_id for row in taken.values()} - {None}) if taken else {}
    for tool in served.tools:
        known = stored.get(tool.name)
        if tool.name in taken:
            reason = _taken(owners.get(taken[tool.name].endpoint_id))
            plan.refused.append((RefusedTool(tool.name, "", reason), "name_taken"))
        elif not (known and known.present and known.content_hash == tool.content_hash):
            free -= _take(
                plan, tool, known or Tool(workspace_id=endpoint.workspace_id, name=tool.name), endpoint, free=free
            )
    plan.changes += [differences.change("gone", row.name, new=_content(row)) for row in gone]
    return plan


def _take(plan: _Plan, served: ManifestTool, row: Tool, endpoint: Endpoint, *, free: int) -> int:
    """Plan one tool that is new, back or changed. Gives how many more tools are switched on by it."""
    is_new, was_present = row._state.adding, row.present and not row._state.adding
    old = None if is_new else _content(row)
    if not rating.holds(row, endpoint_id=endpoint.id, content_hash=served.content_hash):
        rating.reset(row, risk=served.risk)
    row.endpoint, row.definition, row.present = endpoint, "", True
    row.label, row.description = served.label, served.description
    row.input_schema, row.session_start, row.requires = served.input_schema, served.session_start, served.requires or ""
    row.extra, row.content_hash = served.extra, served.content_hash
    off = row.switched_on and not was_present and free < 1
    if off:
        row.switched_on = False
    kind: differences.Kind = "added" if is_new else "changed" if was_present else "back"
    plan.changes.append(differences.change(kind, row.name, new=_content(row), old=old, off=off))
    plan.filled.append(row)
    return int(row.switched_on and not was_present)


def _content(row: Tool) -> Content:
    start = "yes" if row.session_start else "no"
    extra = strict_json.dumps(row.extra, sort_keys=True)
    return Content(row.label, row.description, row.risk, row.requires, start, row.input_schema, extra)


def _taken(owner: Endpoint | None) -> str:
    return f"The name is taken: {owner.url if owner else 'HTTP tools'} had it first."
