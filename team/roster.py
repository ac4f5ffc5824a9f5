"""The teammates of a workspace as one set: who may be what. Every change is made under the workspace's lock, with the
roles as they are by then, so that a workspace always keeps an owner."""

from collections.abc import Mapping
from typing import Final

from django.db import transaction

from median_site.lib import clock, live, text
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, NotFound, Unusable
from team import events
from team.access import NotAllowed
from team.events import Kind
from team.models import Role, Teammate, Workspace
from team.signals import teammate_removed

NAME_LENGTH: Final = 150


class LastOwner(DomainError):
    code = "last_owner"
    message = "A workspace always keeps an owner. Make somebody else an owner first."


class OwnersOnly(DomainError):
    code = "not_allowed"
    message = "Only owners make, change and remove owners."
    status = 403


class NoSuchRole(DomainError):
    code = "invalid"
    message = "Choose owner, admin or member."
    status = 400


def listed(workspace_id: str) -> list[Teammate]:
    """Who is in the team now, with their accounts: owners first, then by name."""
    rows = Teammate.objects.filter(workspace_id=workspace_id, removed_at=None).select_related("user")
    order = list(Role)
    return sorted(rows, key=lambda row: (order.index(Role(row.role)), row.name.lower(), row.id))


def rename(*, by: Actor, name: str) -> None:
    """Call a teammate otherwise, at their own wish; what they wrote keeps the name it had. Raises Unusable."""
    shown = name_of(name)
    with transaction.atomic():
        teammate = _other(lock(by), by.id)
        if teammate.name != shown:
            teammate.name = shown
            teammate.save(update_fields=["name"])
            events.record(Kind.TEAMMATE_RENAMED, by=by, subject_id=teammate.id, data={"name": shown})


def name_of(typed: str) -> str:
    """A person's name on one line, without hidden characters. Raises Unusable."""
    shown = " ".join(text.clean(typed)[0].split())
    if not 1 <= len(shown) <= NAME_LENGTH:
        raise Unusable(f"Write your name, in up to {NAME_LENGTH} characters.", field="name")
    return shown


def change_role(teammate_id: str, *, role: str, by: Actor) -> Teammate:
    """Give a teammate another role; the same one again changes nothing.

    Raises NotFound, NotAllowed, OwnersOnly, LastOwner, and NoSuchRole.
    """
    with transaction.atomic():
        team = lock(by)
        teammate = _other(team, teammate_id)
        wanted = role_of(role)
        if wanted == teammate.role:
            return teammate
        _require(team, by=by, touches_owner=Role.OWNER in {wanted, teammate.role})
        _keep_an_owner(team, without=teammate)
        teammate.role = wanted
        teammate.save(update_fields=["role"])
        told = {"name": teammate.name, "role": str(wanted)}
        events.record(Kind.ROLE_CHANGED, by=by, subject_id=teammate.id, data=dict(told))
    return teammate


def remove(teammate_id: str, *, by: Actor) -> Teammate:
    """Take a teammate out of the workspace: their open pages there go dead with the commit. Raises as above."""
    with transaction.atomic():
        team = lock(by)
        teammate = _other(team, teammate_id)
        _require(team, by=by, touches_owner=teammate.role == Role.OWNER)
        _keep_an_owner(team, without=teammate)
        teammate.removed_at = clock.now()
        teammate.save(update_fields=["removed_at"])
        events.record(Kind.TEAMMATE_REMOVED, by=by, subject_id=teammate.id, data={"name": teammate.name})
        live.changed("teammate", workspace_id=teammate.workspace_id, id=teammate.id)
        teammate_removed.send(sender=Teammate, teammate=teammate, by=by)
    return teammate


def lock(by: Actor) -> Mapping[str, Teammate]:
    """Hold the team until the transaction ends; who is in it now, by id. It keeps nobody from writing other rows."""
    Workspace.objects.select_for_update(no_key=True).only("id").get(id=by.workspace_id)
    return {row.id: row for row in Teammate.objects.filter(workspace_id=by.workspace_id, removed_at=None)}


def require_role(team: Mapping[str, Teammate], *, by: Actor, role: str) -> Role:
    """The role that the actor may hand out, as the team is now. Raises NotAllowed, OwnersOnly, NoSuchRole."""
    wanted = role_of(role)
    _require(team, by=by, touches_owner=wanted == Role.OWNER)
    return wanted


def role_of(word: str) -> Role:
    """Raises NoSuchRole."""
    if word not in set(Role):
        raise NoSuchRole(field="role")
    return Role(word)


def _other(team: Mapping[str, Teammate], teammate_id: str) -> Teammate:
    if teammate_id not in team:
        raise NotFound
    return team[teammate_id]


def _require(team: Mapping[str, Teammate], *, by: Actor, touches_owner: bool) -> None:
    acting = team.get(by.id)
    if acting is None or not acting.may_manage:
        raise NotAllowed
    if touches_owner and acting.role != Role.OWNER:
        raise OwnersOnly


def _keep_an_owner(team: Mapping[str, Teammate], *, without: Teammate) -> None:
    owners = [row for row in team.values() if row.role == Role.OWNER]
    if owners == [without]:
        raise LastOwner
