"""How each teammate wants to be told what waits, the browsers that may be pushed to, and pushes on their way."""

from django.db import models

from median_site.lib import clock, ids
from team.models import NotificationKind


class Topic(models.TextChoices):
    """What there is to be told: the kinds of a team.models.Notification, and requests that wait for anybody."""

    MENTION = NotificationKind.MENTION.value, "Mentions"
    ASSIGNED = NotificationKind.ASSIGNED.value, "Assignments"
    WAITING = NotificationKind.WAITING.value, "Snoozes that are over"
    REQUEST = "request", "Waiting approvals"


class Rhythm(models.TextChoices):
    """How often mail comes, if there is anything to tell."""

    NEVER = "never", "Never"
    SOON = "soon", "Within ten minutes"
    HOURLY = "hourly", "Every hour"
    DAILY = "daily", "Once a day"


def every_topic() -> list[str]:
    return list(Topic.values)


class Preference(models.Model):
    """What one teammate chose; who chose nothing has no row, and the defaults."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    teammate = models.OneToOneField(
        "team.Teammate", on_delete=models.CASCADE, primary_key=True, related_name="preference"
    )
    push = models.JSONField(default=every_topic)
    mail = models.JSONField(default=every_topic)
    rhythm = models.CharField(max_length=6, choices=Rhythm, default=Rhythm.NEVER)
    # Of the day, in the workspace's zone.
    hour = models.PositiveSmallIntegerField(default=8)
    # When the next mail is to be looked at, and what the last one ended with.
    mail_due_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(default=clock.now)

    class Meta:
        indexes = [
            models.Index(fields=["mail_due_at"], name="preference_due", condition=models.Q(mail_due_at__isnull=False))
        ]

    def __str__(self) -> str:
        return f"of {self.teammate_id}"


class Browser(models.Model):
    """A browser that its teammate may be reached in while nothing of Median is open (RFC 8030)."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    teammate = models.ForeignKey("team.Teammate", on_delete=models.CASCADE, related_name="+", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    # SHA-256 of the push service's address, which is a secret: whoever knows it may push.
    digest = models.CharField(max_length=64, unique=True)
    sealed_address = models.TextField()
    # The browser's keys of RFC 8291, base64url: its public one, and the shared secret, sealed.
    p256dh = models.CharField(max_length=120)
    sealed_auth = models.TextField()
    name = models.CharField(max_length=60)
    # Where the person signed in. When that is over, nothing is pushed any more.
    session_key = models.CharField(max_length=40)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    told_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["workspace", "teammate", "created_at"], name="browser_list")]

    def __str__(self) -> str:
        return self.name


class Push(models.Model):
    """Something on its way to one browser; gone once it is there, or once nobody needs it any more."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    browser = models.ForeignKey(Browser, on_delete=models.CASCADE, related_name="pushes", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    topic = models.CharField(max_length=8)
    # The request's id, or the notification's; none of a test.
    subject_id = models.CharField(max_length=40, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    due_at = models.DateTimeField(default=clock.now)
    claimed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["browser", "topic", "subject_id"], name="push_once")]
        indexes = [models.Index(fields=["due_at"], name="push_due")]

    def __str__(self) -> str:
        return f"{self.topic} {self.subject_id}"


class PushKey(models.Model):
    """The installation's own key, which push services know it by (RFC 8292). One row, made when it is first needed."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    sealed_private_pem = models.TextField()
    # As the browser wants it: an uncompressed point, base64url.
    public = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="push_key_one")]

    def __str__(self) -> str:
        return self.public
