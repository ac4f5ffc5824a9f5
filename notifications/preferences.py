"""What each teammate chose to be told, by push and by mail. Who chose nothing has the defaults: push, and no mail."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.core import signing
from django.db.models import Q, QuerySet

from median_site.lib import clock
from median_site.lib.actors import Actor
from median_site.lib.errors import Unusable
from notifications.models import Preference, Rhythm, Topic
from team.models import Teammate

_SALT: Final = "notifications.unsubscribe"


def of(teammate: Teammate) -> Preference:
    """What the teammate chose, or what holds until they choose."""
    row = Preference.objects.filter(teammate=teammate).first()
    return row or Preference(workspace_id=teammate.workspace_id, teammate=teammate)


def save(teammate: Teammate, *, push: Iterable[str], mail: Iterable[str], rhythm: str, hour: str) -> Preference:
    """Change it all. Mail begins with what comes from now on. Raises Unusable with field "rhythm" or "hour".

    `push` and `mail` are topics; whatever is none is left out.
    """
    if rhythm not in Rhythm.values:
        raise Unusable("Choose how often mail comes.", field="rhythm")
    if not (hour.isascii() and hour.isdigit() and len(hour) < 3 and int(hour) < 24):
        raise Unusable("Choose an hour of the day.", field="hour")
    now, had = clock.now(), of(teammate)
    chosen = Preference(rhythm=rhythm, hour=int(hour))
    keeps = (had.rhythm, had.hour) == (chosen.rhythm, chosen.hour)
    set_to = {
        "push": [topic for topic in Topic.values if topic in set(push)],
        "mail": [topic for topic in Topic.values if topic in set(mail)],
        "rhythm": rhythm,
        "hour": chosen.hour,
        "mail_due_at": had.mail_due_at if keeps else next_mail(chosen, zone=teammate.workspace.zone, after=now),
        "mailed_at": now if had.rhythm == Rhythm.NEVER else had.mailed_at,
    }
    row, _ = Preference.objects.update_or_create(
        teammate=teammate, defaults=set_to, create_defaults={**set_to, "workspace_id": teammate.workspace_id}
    )
    return row


def stop_mail(teammate_id: str) -> None:
    """No more mail; again changes nothing."""
    Preference.objects.filter(teammate_id=teammate_id).update(rhythm=Rhythm.NEVER, mail_due_at=None)


def wanting_push(topic: str, *, workspace_id: str, teammate_ids: Collection[str] | None = None) -> QuerySet[Teammate]:
    """Teammates who are told of it in their browsers: of the whole workspace, or among some."""
    chose_it = Q(preference=None) | Q(preference__push__contains=topic)
    people = Teammate.objects.filter(chose_it, workspace_id=workspace_id, removed_at=None)
    return people if teammate_ids is None else people.filter(id__in=teammate_ids)


def next_mail(chosen: Preference, *, zone: str, after: datetime) -> datetime | None:
    """When mail is to be looked at next; None for never."""
    match chosen.rhythm:
        case Rhythm.SOON:
            return after + timedelta(minutes=10)
        case Rhythm.HOURLY:
            return after + timedelta(hours=1)
        case Rhythm.DAILY:
            local = after.astimezone(ZoneInfo(zone))
            today = local.replace(hour=chosen.hour, minute=0, second=0, microsecond=0, fold=0)
            return today if today > local else today + timedelta(days=1)
    return None


def token(teammate_id: str) -> str:
    """What the link in a mail carries: it stops that person's mail and does nothing else, signed in or not."""
    return signing.dumps(teammate_id, salt=_SALT)


def of_token(text: str) -> Teammate | None:
    """The teammate whose mail a link stops, if it is one of ours and they are still in the team."""
    try:
        teammate_id = signing.loads(text, salt=_SALT)
    except signing.BadSignature:
        return None
    return Teammate.objects.filter(id=teammate_id, removed_at=None).select_related("workspace").first()


def mine(by: Actor) -> dict[str, str]:
    """What says whose rows: the teammate's own, in their workspace, and nobody else's."""
    return {"workspace_id": by.workspace_id, "teammate_id": by.id}
