"""A workspace's address for mail, and every mail that came to it or leaves from it."""

from django.db import models

from conversations.models import Conversation, Item
from median_site.lib import clock, ids


class EmailChannel(models.Model):
    """The address that a workspace's customers write to; how mail comes in, and how replies go out."""

    workspace = models.OneToOneField("team.Workspace", on_delete=models.CASCADE, related_name="+")
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    # Lower case.
    address = models.CharField(max_length=254, unique=True)
    name = models.CharField(max_length=80)
    # Replies go to address+key@domain, which leads back to the conversation; some mail servers refuse such addresses.
    signs_replies = models.BooleanField(default=True)
    # Whoever knows the token may hand in mail.
    sealed_token = models.TextField()
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    def __str__(self) -> str:
        return self.address

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


class Security(models.TextChoices):
    """How a mail server is spoken to."""

    TLS = "tls", "TLS"
    STARTTLS = "starttls", "STARTTLS"
    NONE = "none", "Nothing"


class Mailbox(models.Model):
    """A mailbox from which a channel's mail is fetched. The row is the queue: it is due, or somebody looks into it."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+")
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    channel = models.OneToOneField(EmailChannel, on_delete=models.CASCADE, related_name="mailbox")
    host = models.CharField(max_length=253)
    port = models.PositiveIntegerField()
    security = models.CharField(max_length=8, choices=Security, default=Security.TLS)
    username = models.CharField(max_length=320)
    sealed_password = models.TextField()
    folder = models.CharField(max_length=200, default="INBOX")
    # Mail that lay there before is not taken.
    begun_at = models.DateTimeField(default=clock.now)
    # The server's number of the folder, whose mails' numbers are good as long as it stays, and the last mail's taken.
    uid_validity = models.BigIntegerField(null=True)
    last_uid = models.BigIntegerField(default=0)
    # When the next look is; while one is under way, when its claim ends.
    due_at = models.DateTimeField(default=clock.now, db_index=True)
    claimed_at = models.DateTimeField(null=True)
    # The last look that went through; since then, how many failed and why the last one did.
    checked_at = models.DateTimeField(null=True)
    failures = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return f"{self.username} at {self.host}"


class Kind(models.TextChoices):
    """What a mail is to us. Only a message is ever answered."""

    MESSAGE = "message"
    AUTOMATIC = "automatic", "automatic reply"
    BOUNCE = "bounce", "could not be delivered"
    TOO_MANY = "too_many", "too many from one sender"


class Direction(models.TextChoices):
    IN = "in"
    OUT = "out"


class MailState(models.TextChoices):
    RECEIVED = "received"
    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"


class EmailMessage(models.Model):
    """One mail. Of one that came it keeps what tells a copy and finds its thread; the words are on the thread's item.

    A mail that opened no thread and stands in none keeps the beginning of its words, for the team to look at.
    """

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, related_name="+")
    item = models.OneToOneField(Item, on_delete=models.CASCADE, null=True, related_name="+")
    direction = models.CharField(max_length=3, choices=Direction)
    kind = models.CharField(max_length=9, choices=Kind, default=Kind.MESSAGE)
    # By what a mail service names one that left: its own id of it, else the mail's.
    service_id = models.CharField(max_length=900, blank=True, default="", db_default="")
    # Without its angle brackets. A broken program may use one twice, so it does not tell mails apart: the digest does.
    message_id = models.CharField(max_length=900, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    # The other one's: who wrote it, or to whom it goes. Lower case.
    address = models.CharField(max_length=320, blank=True)
    subject = models.CharField(max_length=300, blank=True)
    excerpt = models.CharField(max_length=500, blank=True)
    # Of one that leaves: ids of the thread's mails, the oldest first.
    references = models.JSONField(default=list)
    state = models.CharField(max_length=8, choices=MailState, default=MailState.RECEIVED)
    attempts = models.PositiveSmallIntegerField(default=0)
    # When the next attempt is; while one is under way, when its claim ends.
    due_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    # A report said that it did not arrive and never will.
    bounced_at = models.DateTimeField(null=True, blank=True)
    # Why it was not sent, or why nobody answers it.
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "digest"], name="mail_once", condition=models.Q(direction=Direction.IN)
            )
        ]
        indexes = [
            models.Index(fields=["workspace", "message_id"], name="mail_by_id"),
            models.Index(fields=["workspace", "address", "-created_at"], name="mail_by_address"),
            models.Index(fields=["workspace", "conversation", "created_at"], name="mail_of_thread"),
            models.Index(
                fields=["workspace", "-created_at", "-id"],
                name="mail_aside",
                condition=~models.Q(kind=Kind.MESSAGE) | models.Q(state=MailState.FAILED),
            ),
            # What a mail service tells names no workspace.
            models.Index(fields=["service_id"], name="mail_by_service_id", condition=~models.Q(service_id="")),
            # The agent process's, of every workspace.
            models.Index(fields=["due_at"], name="mail_due", condition=models.Q(state=MailState.WAITING)),
            # The sweep's.
            models.Index(fields=["created_at"], name="mail_oldest", condition=models.Q(conversation=None)),
        ]

    def __str__(self) -> str:
        return f"{self.direction} {self.message_id}"
