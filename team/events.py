"""The one writer of the log. Lines in threads, alerts and webhooks are made from its rows, through the signal."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from median_site.lib import clock, live
from median_site.lib.actors import Actor
from median_site.lib.statement import Statement
from median_site.lib.strict_json import Json
from team import facets
from team.models import Event
from team.signals import entry_added, events_recorded


class Kind(StrEnum):
    CONVERSATION_STARTED = "conversation.started"
    CUSTOMER_WROTE = "message.customer"
    AGENT_REPLIED = "message.agent"
    TEAMMATE_REPLIED = "message.teammate"
    NOTE_LEFT = "note.left"
    TAKEN_OVER = "conversation.taken_over"
    HANDED_OVER = "conversation.handed_over"
    HANDED_BACK = "conversation.handed_back"
    ASSIGNED = "conversation.assigned"
    UNASSIGNED = "conversation.unassigned"
    ASSIGNEE_LEFT = "conversation.assignee_left"
    SNOOZED = "conversation.snoozed"
    WOKEN = "conversation.woken"
    SNOOZE_OVER = "conversation.snooze_over"
    RESOLVED = "conversation.resolved"
    CLOSED = "conversation.closed"
    ARCHIVED = "conversation.archived"
    REOPENED = "conversation.reopened"
    TURN_FAILED = "turn.failed"
    EMAIL_AUTOMATIC = "email.automatic"
    EMAIL_TOO_MANY = "email.too_many"
    EMAIL_BOUNCED = "email.bounced"
    EMAIL_FAILED = "email.failed"
    EMAIL_COMPLAINED = "email.complained"
    EMAIL_RETRIED = "email.retried"
    EMAIL_FILES_LEFT = "email.files_left"
    DISCORD_FAILED = "discord.failed"
    DISCORD_FILES_LEFT = "discord.files_left"
    LESSON_FORGOTTEN = "lesson.forgotten"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_REVIEWING = "approval.reviewing"
    APPROVAL_PASSED_ON = "approval.passed_on"
    APPROVAL_UNCHECKED = "approval.unchecked"
    APPROVED = "approval.approved"
    DENIED = "approval.denied"
    EXPIRED = "approval.expired"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_STUCK = "run.stuck"
    ENDPOINT_ADDED = "endpoint.added"
    ENDPOINT_CHANGED = "endpoint.changed"
    ENDPOINT_REMOVED = "endpoint.removed"
    ENDPOINT_SYNCED = "endpoint.synced"
    SYNC_FAILED = "endpoint.sync_failed"
    TOOL_SWITCHED = "tool.switched"
    TOOL_RATED = "tool.rated"
    HTTP_TOOL_SAVED = "http_tool.saved"
    HTTP_TOOL_REMOVED = "http_tool.removed"
    HTTP_TOOLS_IMPORTED = "http_tools.imported"
    TOOLS_PUBLISHED = "http_tools.published"
    SUBJECT_DROPPED = "tool.subject_dropped"
    SIGNING_KEY_ROTATED = "signing_key.rotated"
    SESSION_REFUSED = "session.refused"
    WORKSPACE_CHANGED = "workspace.changed"
    WORKSPACE_CLOSED = "workspace.closed"
    AGENT_CHANGED = "agent.changed"
    INVITATION_MADE = "invitation.made"
    INVITATION_WITHDRAWN = "invitation.withdrawn"
    TEAMMATE_JOINED = "teammate.joined"
    TEAMMATE_RENAMED = "teammate.renamed"
    ROLE_CHANGED = "teammate.role_changed"
    TEAMMATE_REMOVED = "teammate.removed"
    API_KEY_MADE = "api_key.made"
    API_KEY_REVOKED = "api_key.revoked"
    SAVED_REPLY_SAVED = "saved_reply.saved"
    SAVED_REPLY_REMOVED = "saved_reply.removed"
    WEBHOOK_ADDED = "webhook.added"
    WEBHOOK_CHANGED = "webhook.changed"
    WEBHOOK_REMOVED = "webhook.removed"
    WEBHOOK_DISABLED = "webhook.disabled"
    ALERTS_SET_UP = "alerts.set_up"
    ALERTS_REMOVED = "alerts.removed"
    ALERTS_DISABLED = "alerts.disabled"
    ALERTS_MENDED = "alerts.mended"
    ALERT_FAILED = "alert.failed"
    ALERT_GIVEN_UP = "alert.given_up"
    ALERTS_LINKED = "account.alerts_linked"
    ALERTS_UNLINKED = "account.alerts_unlinked"
    EMAIL_CHANNEL_CHANGED = "email_channel.changed"
    EMAIL_CHANNEL_REMOVED = "email_channel.removed"
    EMAIL_MAILBOX_FAILED = "email_mailbox.failed"
    EMAIL_MAILBOX_MENDED = "email_mailbox.mended"
    DISCORD_CHANNEL_CHANGED = "discord_channel.changed"
    DISCORD_CHANNEL_REMOVED = "discord_channel.removed"
    DISCORD_CHANNEL_STOPPED = "discord_channel.stopped"
    DISCORD_CHANNEL_MENDED = "discord_channel.mended"
    PASSWORD_CHANGED = "account.password_changed"  # noqa: S105  # a kind of event
    SECOND_STEP_ADDED = "account.second_step_added"
    SECOND_STEP_REMOVED = "account.second_step_removed"
    RECOVERY_CODES_MADE = "account.recovery_codes_made"
    SESSION_ENDED = "account.session_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A row of the log that is to be written.

    `data` holds what the line, the alert and the Logs page need and is never read back to decide anything. No secret,
    no token and no customer's words go into it. A run that the tool refused says so in `data["refused"]`.
    """

    kind: Kind
    by: Actor
    conversation_id: str = ""
    subject_id: str = ""
    tool_name: str = ""
    data: dict[str, Json] = field(default_factory=dict)


def record(
    kind: Kind,
    *,
    by: Actor,
    conversation_id: str = "",
    subject_id: str = "",
    tool_name: str = "",
    data: dict[str, Json] | None = None,
) -> Event:
    """Append one row and tell the apps above, inside the caller's transaction. See Entry."""
    entry = Entry(
        kind=kind, by=by, conversation_id=conversation_id, subject_id=subject_id, tool_name=tool_name, data=data or {}
    )
    return record_all([entry])[0]


def record_all(entries: Iterable[Entry]) -> list[Event]:
    """Append rows in their order, in one statement, and tell the apps above, inside the caller's transaction."""
    events = Event.objects.bulk_create(_event(entry) for entry in entries)
    events_recorded.send(sender=Event, events=events)
    # A thread's change rings by itself.
    quiet = [(event.workspace_id, str(event.id), 0) for event in events if not event.conversation_id]
    if quiet:
        live.changed_all("event", quiet)
    return events


def add(entry: Entry, *, to: Statement) -> None:
    """Have a statement append a row for each row of its part `moved`, and tell the apps above, which add to it.

    `moved` has what changed, requests or runs: workspace_id, conversation_id (or null), id, tool_name, label, the card
    of which kind shows it, and data, to which the entry's is added.
    """
    columns = {
        "workspace_id": "moved.workspace_id",
        "conversation_id": "coalesce(moved.conversation_id, '')",
        "subject_id": "moved.id",
        "tool_name": "moved.tool_name",
        "data": "moved.data || %s::jsonb",
    }
    in_order = "moved order by moved.conversation_id, moved.id"
    rung = "returning workspace_id, conversation_id, id::text as id, 0 as version"
    to.insert("logged", _event(entry), source=f"{in_order} {rung}", **columns)
    # A thread's change rings by itself.
    to.ring(live.bells_of("event", source="logged where conversation_id = ''"))
    entry_added.send(sender=Event, entry=entry, statement=to)


def _event(entry: Entry) -> Event:
    return Event(
        workspace_id=entry.by.workspace_id,
        kind=entry.kind,
        type=facets.type_of(entry.kind),
        outcome=facets.outcome_of(entry.kind, refused=bool(entry.data.get("refused"))) or "",
        at=clock.now(),
        actor_kind=entry.by.kind,
        actor_id=entry.by.id,
        actor_name=entry.by.name,
        conversation_id=entry.conversation_id,
        subject_id=entry.subject_id,
        tool_name=entry.tool_name,
        data=entry.data,
    )
