"""Where a company wants to hear of events, and each event on its way there."""

from datetime import timedelta
from typing import Final

from django.db import models

from median_site.lib import clock, ids
from team.models import Event

# What the first delivery of a press on Test is; no event of the log is called so.
TEST: Final = "webhook.test"
# Longer than any attempt takes. After it the delivery is due again, in any process.
HELD: Final = timedelta(seconds=30)


class Off(models.TextChoices):
    """Why nothing is sent to a webhook."""

    PEOPLE = "people", "Switched off"
    GONE = "gone", "The receiver answered 410 Gone"
    FAILING = "failing", "Every delivery of three days failed"


class Webhook(models.Model):
    """A URL that events are sent to. A removed one keeps its row for the deliveries that went there."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="webhooks", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    url = models.URLField(max_length=2000)
    # Names of events (team.events.Kind); none means all.
    kinds = models.JSONField(default=list)
    sealed_secret = models.TextField()
    # During a rotation the old secret signs too, until then.
    sealed_old_secret = models.TextField(blank=True)
    old_secret_until = models.DateTimeField(null=True, blank=True)
    off = models.CharField(max_length=7, choices=Off, blank=True)
    # Older events are not sent: when it was made, or last switched on.
    since = models.DateTimeField(default=clock.now)
    # Since when every attempt has failed.
    failing_since = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["workspace", "created_at"], name="webhook_list")]

    def __str__(self) -> str:
        return self.url

    @property
    def is_on(self) -> bool:
        return not self.off and self.removed_at is None

    @property
    def is_rotating(self) -> bool:
        """Whether an old secret still signs beside the current one."""
        return bool(self.sealed_old_secret and self.old_secret_until and self.old_secret_until > clock.now())

    def wants(self, event: Event) -> bool:
        return event.at >= self.since and (not self.kinds or event.kind in self.kinds)


class DeliveryState(models.TextChoices):
    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


class WebhookDelivery(models.Model):
    """One event on its way to one webhook. Its id is the `webhook-id` of every attempt."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    id = models.CharField(primary_key=True, max_length=36, default=ids.message_id, editable=False)
    # The log's row; none of a test. Retention may take the row away, so nothing holds it here.
    event_id = models.BigIntegerField(null=True, blank=True)
    kind = models.CharField(max_length=40)
    state = models.CharField(max_length=9, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    # When the next attempt is; while one is under way, when its claim ends.
    due_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    # Of the last attempt.
    tried_at = models.DateTimeField(null=True, blank=True)
    answer_status = models.PositiveSmallIntegerField(null=True, blank=True)
    answer = models.TextField(blank=True)
    error = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "webhook", "event_id"], name="delivery_once")]
        indexes = [
            models.Index(fields=["workspace", "webhook", "-created_at", "-id"], name="delivery_newest"),
            # The agent process's, for each webhook of every workspace.
            models.Index(fields=["webhook", "due_at"], name="delivery_due", condition=models.Q(state="waiting")),
            # The sweep's.
            models.Index(fields=["created_at"], name="delivery_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def is_under_way(self) -> bool:
        """An attempt is being made now, or its process died less than HELD ago."""
        return self.claimed_at is not None and self.claimed_at > clock.now() - HELD
