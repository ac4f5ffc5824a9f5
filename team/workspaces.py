"""What a workspace is called, which zone its times are written in, and who its agent is."""

from typing import Final
from zoneinfo import available_timezones

from django.db import transaction

from median_site.lib import text
from median_site.lib.actors import Actor
from median_site.lib.errors import Unusable
from team import events, origins
from team.events import Kind
from team.models import Workspace

NAME_LENGTH: Final = 100
AGENT_NAME_LENGTH: Final = 60
INSTRUCTIONS_LENGTH: Final = 20_000
# Days, as the form sends them, and what they are called.
RETENTION: Final = {
    "": "Forever", "30": "30 days", "90": "90 days", "180": "180 days", "365": "1 year", "730": "2 years",
}  # fmt: skip


def zones() -> list[str]:
    """The zones that may be chosen, by name: UTC first, then those of places."""
    return ["UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/"))]


def change(*, by: Actor, name: str, zone: str) -> Workspace:
    """Rename the workspace, or write its times in another zone. Raises Unusable."""
    if zone not in available_timezones():
        raise Unusable("Choose one of the zones in the list.", field="zone")
    return _store(Kind.WORKSPACE_CHANGED, by=by, name=_line(name, NAME_LENGTH, field="name"), zone=zone)


def change_retention(*, by: Actor, days: str) -> Workspace:
    """Keep ended threads and the log for one of RETENTION's choices of days. Raises Unusable, field "days"."""
    if days not in RETENTION:
        raise Unusable("Choose one of the times in the list.", field="days")
    return _store(Kind.WORKSPACE_CHANGED, by=by, retention_days=int(days) if days else None)


def change_widget(*, by: Actor, sites: str) -> Workspace:
    """Say which sites may show the chat, one origin a line; none: it opens only as a page. Raises Unusable."""
    return _store(Kind.WORKSPACE_CHANGED, by=by, widget_origins="\n".join(origins.listed(sites)))


def change_agent(*, by: Actor, name: str, instructions: str) -> Workspace:
    """Rename the agent or instruct it otherwise, from its next turn on. Raises Unusable."""
    told = text.clean(instructions)[0].strip()
    if len(told) > INSTRUCTIONS_LENGTH:
        raise Unusable("Keep the instructions below 20,000 characters.", field="instructions")
    called = _line(name, AGENT_NAME_LENGTH, field="agent_name")
    return _store(Kind.AGENT_CHANGED, by=by, agent_name=called, instructions=told)


def _store(kind: Kind, *, by: Actor, **wanted: str | int | None) -> Workspace:
    """Keep what differs. What somebody wrote goes into the log by the names of its fields alone."""
    with transaction.atomic():
        workspace = Workspace.objects.select_for_update(no_key=True).get(id=by.workspace_id)
        changed = [field for field, value in wanted.items() if getattr(workspace, field) != value]
        for field in changed:
            setattr(workspace, field, wanted[field])
        if changed:
            workspace.save(update_fields=changed)
            events.record(kind, by=by, data={"fields": list(changed)})
    return workspace


def _line(typed: str, limit: int, *, field: str) -> str:
    line = " ".join(text.clean(typed)[0].split())
    if not 1 <= len(line) <= limit:
        raise Unusable(f"Write a name of up to {limit} characters.", field=field)
    return line
