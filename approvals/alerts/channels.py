"""The channels a workspace is alerted in: set up, removed, stopped when a service refuses, on again. No request leaves
from here."""

import re
from collections.abc import Mapping
from typing import Final

from django.db import transaction
from django.db.models import Q

from approvals.models import AlertChannel, Service
from discord import genuine
from median_site.lib import clock, live, secrets
from median_site.lib.actors import Actor, system
from median_site.lib.errors import Unusable, existing
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from team.models import Workspace

_TOKEN: Final = re.compile(r"[\x21-\x7e]{20,400}")
_CHANNEL: Final[Mapping[str, re.Pattern[str]]] = {
    Service.SLACK: re.compile(r"[CG][A-Z0-9]{6,30}"),
    Service.DISCORD: re.compile(r"[0-9]{15,22}"),
}
_CHECK: Final[Mapping[str, re.Pattern[str]]] = {
    Service.SLACK: re.compile(r"[0-9a-f]{32}"),
    Service.DISCORD: re.compile(r"[0-9a-f]{64}"),
}
_BAD_CHANNEL: Final[Mapping[str, str]] = {
    Service.SLACK: "A channel’s ID starts with C or G, like C0123456789.",
    Service.DISCORD: "A channel’s ID has digits alone, like 1234567890123456789.",
}
_BAD_CHECK: Final[Mapping[str, str]] = {
    Service.SLACK: "A signing secret has 32 of the characters 0 to 9 and a to f.",
    Service.DISCORD: "A public key has 64 of the characters 0 to 9 and a to f.",
}


def set_up(service: Service, *, channel: str, token: str, check: str, by: Actor) -> AlertChannel:
    """Alert this channel from now on, in the place of the one before. A blank token or check keeps that one's.

    `check` is Slack's signing secret or Discord's public key. Raises Unusable with field "channel", "token" or "check".
    """
    channel, token, check = channel.strip(), token.strip(), check.strip().lower()
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).only("id").get(id=by.workspace_id)
        former = active(by.workspace_id, service)
        _validate(service, channel=channel, token=token, check=check, is_first=former is None)
        sealed = {
            "sealed_token": secrets.seal(token) if token or former is None else former.sealed_token,
            "sealed_check": secrets.seal(check) if check or former is None else former.sealed_check,
        }
        if former and former.channel == channel:
            AlertChannel.objects.filter(id=former.id).update(off="", quiet_until=None, **sealed)
            former.refresh_from_db()
        else:
            if former:
                _remove(former)
            former = AlertChannel.objects.create(
                workspace_id=by.workspace_id, service=service, channel=channel, **sealed
            )
        _record(Kind.ALERTS_SET_UP, former, by=by)
        live.wake("agent")
    return former


def remove(service: Service, *, by: Actor) -> None:
    """Send nothing more there and forget its secrets. A second time: NotFound."""
    with transaction.atomic():
        found = existing(
            AlertChannel.objects.select_for_update(no_key=True).filter(_of(by.workspace_id, service)).first()
        )
        _remove(found)
        _record(Kind.ALERTS_REMOVED, found, by=by)


def remove_all(workspace_id: str) -> None:
    """The workspace is closed, in the caller's transaction: nothing leaves it any more."""
    for found in AlertChannel.objects.filter(workspace_id=workspace_id, removed_at=None):
        _remove(found)


def active(workspace_id: str, service: Service) -> AlertChannel | None:
    """The workspace's channel there, also while it is off."""
    return AlertChannel.objects.filter(_of(workspace_id, service)).first()


def find(by: Actor, service: Service) -> AlertChannel:
    return existing(active(by.workspace_id, service))


def stop(channel: AlertChannel, *, why: str) -> None:
    """The service refuses for good. What waits goes out once somebody has mended it."""
    with transaction.atomic():
        if AlertChannel.objects.filter(id=channel.id, off="", removed_at=None).update(off=why):
            _record(Kind.ALERTS_DISABLED, channel, by=system(channel.workspace_id), why=why)


def mended(channel: AlertChannel, *, by: Actor) -> None:
    """The service takes messages: what waits goes out."""
    with transaction.atomic():
        if AlertChannel.objects.filter(id=channel.id, removed_at=None).exclude(off="").update(off=""):
            _record(Kind.ALERTS_MENDED, channel, by=by)
            live.wake("agent")


def _validate(service: Service, *, channel: str, token: str, check: str, is_first: bool) -> None:
    if not _CHANNEL[service].fullmatch(channel):
        raise Unusable(_BAD_CHANNEL[service], field="channel")
    if (token or is_first) and not _TOKEN.fullmatch(token):
        raise Unusable("This is not a bot token.", field="token")
    if (check or is_first) and not (
        _CHECK[service].fullmatch(check) and (service == Service.SLACK or genuine.is_key(check))
    ):
        raise Unusable(_BAD_CHECK[service], field="check")


def _of(workspace_id: str, service: Service) -> Q:
    return Q(workspace_id=workspace_id, service=service, removed_at=None)


def _remove(channel: AlertChannel) -> None:
    gone = {"removed_at": clock.now(), "sealed_token": "", "sealed_check": ""}
    AlertChannel.objects.filter(id=channel.id).update(**gone)


def _record(kind: Kind, channel: AlertChannel, *, by: Actor, **more: Json) -> None:
    data: dict[str, Json] = {"service": Service(channel.service).label, "channel": channel.channel}
    events.record(kind, by=by, subject_id=channel.id, data=data | more)
