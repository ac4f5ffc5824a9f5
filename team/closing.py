"""Deleting a workspace. All its doors close in one transaction; what it holds is erased a day later, when every call
that was under way has ended."""

from collections.abc import Iterator
from datetime import timedelta
from graphlib import TopologicalSorter
from typing import Final

from django.apps import apps
from django.db import connection, models, transaction

from median_site.lib import clock, live
from median_site.lib.actors import Actor
from median_site.lib.errors import Unusable
from team import events, roster
from team.access import NotAllowed
from team.events import Kind
from team.models import ApiKey, Invitation, Role, SigningKey, Teammate, Workspace
from team.signals import workspace_closed

ERASED_AFTER: Final = timedelta(days=1)
BATCH: Final = 5_000


def close(*, by: Actor, name: str) -> None:
    """Let nobody in any more: no teammate, no key, no customer, no call by a turn that is still to come.

    `name` is what the owner typed to confirm. Raises NotAllowed, and Unusable when it is not the workspace's name.
    Its address is free at once: nothing finds the workspace by it any more, and no session token fits.
    """
    with transaction.atomic():
        team = roster.lock(by)
        workspace = Workspace.objects.get(id=by.workspace_id)
        if by.id not in team or team[by.id].role != Role.OWNER:
            raise NotAllowed("Only owners delete the workspace.")
        if name.strip() != workspace.name:
            raise Unusable(f"Type {workspace.name} to delete it.", field="name")
        now = clock.now()
        workspace.slug, workspace.closed_at = f"closed-{workspace.id}", now
        workspace.save(update_fields=["slug", "closed_at"])
        Teammate.objects.filter(id__in=team).update(removed_at=now)
        Invitation.objects.filter(workspace=workspace, accepted_at=None).delete()
        ApiKey.objects.filter(workspace=workspace, revoked_at=None).update(revoked_at=now)
        SigningKey.objects.filter(workspace=workspace).update(retires_at=now)
        workspace_closed.send(sender=Workspace, workspace_id=workspace.id)
        events.record(Kind.WORKSPACE_CLOSED, by=by, data={"name": workspace.name})
        live.changed_all("teammate", [(workspace.id, teammate_id, 0) for teammate_id in team])


def erase_closed() -> int:
    """Erase what workspaces held that were closed a day ago. Gives how many. Stopped anywhere, it goes on next time."""
    due = list(Workspace.objects.filter(closed_at__lte=clock.now() - ERASED_AFTER).values_list("id", flat=True))
    for workspace_id in due:
        for model in _children_first():
            while _erase_some(model, workspace_id):
                pass
        Workspace.objects.filter(id=workspace_id).delete()
    return len(due)


def _children_first() -> Iterator[type[models.Model]]:
    """Every table of workspaces' rows, each before those that it refers to."""
    tables = {model for model in apps.get_models() if any(field.name == "workspace" for field in model._meta.fields)}
    parents = {
        model: {f.related_model for f in model._meta.fields if f.is_relation and f.related_model in tables - {model}}
        for model in tables
    }
    yield from reversed(list(TopologicalSorter(parents).static_order()))


def _erase_some(model: type[models.Model], workspace_id: str) -> int:
    """One batch in a transaction of its own, straight in the database: no row of it is looked at here."""
    table = connection.ops.quote_name(model._meta.db_table)
    some = f"select ctid from {table} where workspace_id = %s limit %s"  # noqa: S608  # a table of our own
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select set_config('median.log_retention', 'on', true)")  # rows of the log may go, in here
        cursor.execute(f"delete from {table} where ctid = any(array({some}))", [workspace_id, BATCH])  # noqa: S608  # names in the code
        return int(cursor.rowcount)
