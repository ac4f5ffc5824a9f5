"""A parked call: the request, its decision, and what it showed when it was made."""

from datetime import datetime
from typing import Self

from django.contrib.postgres.indexes import GinIndex
from django.db import models

from conversations.words import Words
from median_site.lib import clock, ids
from tools.models import Risk


class State(models.TextChoices):
    REVIEWING = "reviewing"
    PENDING = "pending"
    EXECUTING = "executing"
    COMPLETED = "completed"
    FAILED = "failed"
    DENIED = "denied"
    EXPIRED = "expired"


DECIDABLE = (State.REVIEWING, State.PENDING)
OPEN = (*DECIDABLE, State.EXECUTING)


class ExpiredBecause(models.TextChoices):
    UNANSWERED = "unanswered"
    CONVERSATION_ENDED = "conversation_ended"
    ENDPOINT_REMOVED = "endpoint_removed"


class ToolApprovalQuerySet(models.QuerySet["ToolApproval"]):
    def open(self) -> Self:
        return self.filter(state__in=OPEN)

    def decidable(self) -> Self:
        return self.filter(state__in=DECIDABLE)

    def due(self, now: datetime) -> Self:
        return self.decidable().filter(expires_at__lte=now)


class ToolApproval(models.Model):
    """A request. Its state moves only in approvals.decisions; its id is the id of the call that it may become."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="approvals", db_index=False)
    id = models.CharField(primary_key=True, max_length=40, default=ids.call_id, editable=False)
    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.CASCADE, related_name="approvals")
    tool = models.ForeignKey("tools.Tool", on_delete=models.SET_NULL, null=True, related_name="approvals")
    # What the card showed when it was asked: later syncs do not change it.
    endpoint_id = models.CharField(max_length=32)
    tool_name = models.CharField(max_length=64)
    tool_label = models.CharField(max_length=80)
    description = models.TextField()
    risk = models.CharField(max_length=8, choices=Risk)
    schema_hash = models.CharField(max_length=64)
    input = models.TextField()
    turn_id = models.CharField(max_length=32, blank=True)
    state = models.CharField(max_length=9, choices=State)
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by_kind = models.CharField(max_length=8, blank=True)
    decided_by_id = models.CharField(max_length=32, blank=True)
    decided_by_name = models.CharField(max_length=150, blank=True)
    # For the team only: a teammate's reason to deny.
    reason = models.TextField(blank=True)
    # "passed" or "unchecked" once the reviewer left it to the team, and why.
    review = models.CharField(max_length=9, blank=True, choices=[("passed", "Passed on"), ("unchecked", "Not checked")])
    review_reason = models.TextField(blank=True)
    expired_because = models.CharField(max_length=18, blank=True, choices=ExpiredBecause)
    # The agent has been told how it ended, in the turn with this id.
    told_in_turn = models.CharField(max_length=32, blank=True)

    objects = ToolApprovalQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "conversation", "tool_name"],
                name="approval_one_open",
                condition=models.Q(state__in=[s.value for s in OPEN]),
            )
        ]
        indexes = [
            models.Index(fields=["workspace", "conversation", "-requested_at"], name="approval_by_conversation"),
            # The queue's search.
            GinIndex("workspace", Words("input"), name="approval_words"),
            models.Index(fields=["workspace", "state", "expires_at", "id"], name="approval_by_state"),
            models.Index(fields=["workspace", "-requested_at", "-id"], name="approval_newest"),
            # The Approvals page: what waits, soonest expiry first; the rest by request, newest first; and its filters.
            models.Index(
                fields=["workspace", "expires_at", "id"],
                name="approval_waiting",
                condition=models.Q(state__in=[s.value for s in DECIDABLE]),
            ),
            models.Index(fields=["workspace", "state", "-requested_at", "-id"], name="approval_newest_by_state"),
            models.Index(fields=["workspace", "tool_name", "-requested_at", "-id"], name="approval_newest_by_tool"),
            models.Index(fields=["workspace", "risk", "-requested_at", "-id"], name="approval_newest_by_risk"),
            # How long teammates take; the dashboard measures from it alone.
            models.Index(
                fields=["workspace", "decided_by_kind", "decided_at"],
                name="approval_decided",
                include=["requested_at"],
                condition=models.Q(decided_at__isnull=False),
            ),
            # The sweep's: due requests of every workspace at once.
            models.Index(
                fields=["expires_at", "id"],
                name="approval_due",
                condition=models.Q(state__in=[s.value for s in DECIDABLE]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.id}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def is_decidable(self) -> bool:
        return self.state in DECIDABLE

    def state_at(self, now: datetime) -> str:
        """What people should read: past its time it is expired, although the job has not written it down yet."""
        return State.EXPIRED if self.is_decidable and self.expires_at <= now else self.state


class ReviewState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"


class ReviewOutcome(models.TextChoices):
    APPROVED = "approved"
    DENIED = "denied"
    PASSED = "passed", "Passed on"
    UNCHECKED = "unchecked", "Not checked"
    # Somebody else decided, or the request expired, while the reviewer was reading.
    DROPPED = "dropped"


class Review(models.Model):
    """The reviewer's work on one request. Moved by approvals.reviews alone; it may be done again after a crash."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    approval = models.OneToOneField(ToolApproval, on_delete=models.CASCADE, primary_key=True, related_name="+")
    state = models.CharField(max_length=7, choices=ReviewState, default=ReviewState.QUEUED)
    queued_at = models.DateTimeField()
    # The process that works on it, and when it last said so; a silent one's review is taken up by another.
    claimed_by = models.CharField(max_length=64, blank=True)
    beat_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=9, blank=True, choices=ReviewOutcome)
    # Which model read what, and its verdict as approvals.reviewer.verdict has it. For the team alone.
    model = models.CharField(max_length=100, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    verdict = models.JSONField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "-queued_at"], name="review_newest"),
            # The claim loop's: reviews of every workspace at once.
            models.Index(fields=["queued_at"], name="review_due", condition=~models.Q(state="done")),
        ]

    def __str__(self) -> str:
        return f"{self.state} {self.approval_id}"


class Service(models.TextChoices):
    SLACK = "slack", "Slack"
    DISCORD = "discord", "Discord"


class AlertChannel(models.Model):
    """A channel of Slack or Discord that a workspace is alerted in. A removed one keeps its row without its secrets."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+")
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    service = models.CharField(max_length=7, choices=Service)
    # The service's own id of the channel.
    channel = models.CharField(max_length=32)
    sealed_token = models.TextField()
    # What tells that a press is the service's: Slack's signing secret, Discord's public key.
    sealed_check = models.TextField()
    # Why nothing can be sent, in a sentence, until somebody mends it.
    off = models.CharField(max_length=200, blank=True)
    # The service asked for a pause until then.
    quiet_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "service"], name="alert_channel_one", condition=models.Q(removed_at=None)
            )
        ]

    def __str__(self) -> str:
        return f"{self.service} {self.channel}"


class Alert(models.Model):
    """The message about one request in one channel. It is brought to the newest state, however many changes came."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    channel = models.ForeignKey(AlertChannel, on_delete=models.CASCADE, related_name="+")
    approval = models.ForeignKey(ToolApproval, on_delete=models.CASCADE, related_name="+")
    # The service's id of the message, once it was posted.
    message_id = models.CharField(max_length=32, blank=True)
    # Counts the changes; the one that the message shows.
    wanted = models.PositiveIntegerField(default=1)
    shown = models.PositiveIntegerField(default=0)
    wanted_at = models.DateTimeField(default=clock.now)
    # When the next attempt is; while one is under way, when its claim ends.
    due_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    # The service refused the message with its input.
    is_short = models.BooleanField(default=False)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "approval", "channel"], name="alert_once")]
        # The agent process's, for each channel of every workspace.
        indexes = [
            models.Index(fields=["channel", "due_at"], name="alert_due", condition=models.Q(due_at__isnull=False))
        ]

    def __str__(self) -> str:
        return f"{self.approval_id} {self.shown}/{self.wanted}"


class AlertPress(models.Model):
    """A press of a button in an alert, acknowledged and yet to be worked on. Kept for a day."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    # Nobody can guess it: whoever pressed and is not linked gets it, as the code to link with.
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    channel = models.ForeignKey(AlertChannel, on_delete=models.CASCADE, related_name="+")
    # The service's own id of the press.
    key = models.CharField(max_length=200)
    # Who pressed: a user of one of Slack's workspaces (`account`), or of Discord.
    account = models.CharField(max_length=32, blank=True)
    user_id = models.CharField(max_length=32)
    user_name = models.CharField(max_length=100)
    approval_id = models.CharField(max_length=40)
    approves = models.BooleanField()
    # It came from the form that asks whoever denies for a reason, and what they gave: for the team alone.
    is_form = models.BooleanField(default=False)
    reason = models.TextField(blank=True)
    # Where an answer for their eyes alone goes.
    sealed_reply = models.TextField()
    pressed_at = models.DateTimeField(default=clock.now)
    due_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    linked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "channel", "key"], name="alert_press_once")]
        indexes = [
            # The agent process's, and the sweep's.
            models.Index(fields=["due_at"], name="alert_press_due", condition=models.Q(due_at__isnull=False)),
            models.Index(fields=["pressed_at"], name="alert_press_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.user_name} {self.approval_id}"


class AlertLink(models.Model):
    """A user of Slack or Discord who is a teammate, and decides in their name."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    teammate = models.ForeignKey("team.Teammate", on_delete=models.CASCADE, related_name="+")
    service = models.CharField(max_length=7, choices=Service)
    account = models.CharField(max_length=32, blank=True)
    user_id = models.CharField(max_length=32)
    user_name = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "service", "account", "user_id"], name="alert_link_once")
        ]
        indexes = [models.Index(fields=["workspace", "teammate", "created_at"], name="alert_link_list")]

    def __str__(self) -> str:
        return f"{self.user_name} {self.service}"


class ExpiryAlarm(models.Model):
    """One row for the installation: when the next alarm of approvals.alarm rings."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.at.isoformat()
