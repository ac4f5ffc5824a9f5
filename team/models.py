"""Workspaces and the people in them, their keys, and the log. Every other table hangs from a workspace."""

from collections.abc import Sequence
from typing import ClassVar, Final

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower

from median_site.lib import clock, ids
from median_site.lib.actors import Actor, ActorKind
from team.facets import Outcome, Type

# Stands for the hash of the event before the first one.
NOTHING_BEFORE: Final = "0" * 64


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, *, name: str = "") -> "User":
        user = self.model(email=self.normalize_email(email), name=name)
        user.set_password(password)
        user.save()
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)


class User(AbstractBaseUser):
    """A person who signs in; what they may do hangs from their teammate rows."""

    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    email = models.EmailField()
    name = models.CharField(max_length=150, blank=True)
    is_active = models.BooleanField(default=True)
    theme = models.CharField(max_length=5, blank=True, choices=[("light", "Light"), ("dark", "Dark")])
    created_at = models.DateTimeField(default=clock.now, editable=False)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()

    # Who they are now in their workspaces, the oldest first: of whoever a request is signed in as (team.sign_in).
    works_as: "Sequence[Teammate]" = ()

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique")]

    def __str__(self) -> str:
        return self.email


class Workspace(models.Model):
    """One company's tenant."""

    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    slug = models.SlugField(max_length=50, unique=True)
    name = models.CharField(max_length=100)
    agent_name = models.CharField(max_length=60, default="Median AI")
    instructions = models.TextField(blank=True)
    # Origins that may frame the widget, one a line; empty: the widget opens only as a page of its own.
    widget_origins = models.TextField(blank=True)
    # The time zone that teammates' pages write moments in.
    zone = models.CharField(max_length=64, default="UTC")
    # Ended threads and rows of the log are erased when they are older; null: never (conversations.retention).
    retention_days = models.PositiveSmallIntegerField(null=True, blank=True)
    # Deleted by an owner then; its rows go a day later (team.closing).
    closed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    def __str__(self) -> str:
        return self.name

    @property
    def issuer(self) -> str:
        """The workspace's URL on this installation: `iss` of every token it signs."""
        return f"{settings.MEDIAN_URL}/w/{self.slug}"


class Role(models.TextChoices):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"


class Teammate(models.Model):
    """A person's place in a workspace. A removed one keeps its row, so that the log keeps its names."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="teammates", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="teammates")
    name = models.CharField(max_length=150, blank=True)
    role = models.CharField(max_length=6, choices=Role, default=Role.MEMBER)
    removed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "user"], name="teammate_unique")]

    def __str__(self) -> str:
        return self.name

    @property
    def actor(self) -> Actor:
        return Actor(ActorKind.TEAMMATE, self.workspace_id, id=self.id, name=self.name)

    @property
    def initials(self) -> str:
        words = self.name.split()
        return "".join(word[0] for word in (words[:1] + words[-1:] if len(words) > 1 else words)).upper() or "?"

    @property
    def may_manage(self) -> bool:
        """Endpoints, tools, agent settings, keys, teammates."""
        return self.role in {Role.OWNER, Role.ADMIN}


class NotificationKind(models.TextChoices):
    MENTION = "mention"
    ASSIGNED = "assigned"
    # A thread of theirs has come back and waits for them.
    WAITING = "waiting"


class Notification(models.Model):
    """Something that one teammate is told. `number`: the item of the thread that it is about."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+", db_index=False)
    teammate = models.ForeignKey(Teammate, on_delete=models.CASCADE, related_name="notifications")
    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=8, choices=NotificationKind)
    conversation_id = models.CharField(max_length=32)
    number = models.BigIntegerField(default=0)
    # The teammate who did it, as they were called then. "the API" has no id; when nobody did it, neither is there.
    by_id = models.CharField(max_length=32, blank=True)
    by_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "teammate", "-id"], name="notification_newest"),
            models.Index(
                fields=["workspace", "teammate", "-id"], name="notification_unread", condition=models.Q(read_at=None)
            ),
            # The queue's filter, and what reading a thread reads.
            models.Index(fields=["workspace", "teammate", "conversation_id"], name="notification_by_thread"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Invitation(models.Model):
    """A link that lets one person in, once. Only a hash of its token is kept."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="invitations", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    email = models.EmailField()
    role = models.CharField(max_length=6, choices=Role, default=Role.MEMBER)
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["workspace", "-created_at"], name="invitation_newest")]

    def __str__(self) -> str:
        return self.email


class SigningKey(models.Model):
    """An ES256 key pair of a workspace; the newest signs, all published ones verify."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="signing_keys", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    kid = models.CharField(max_length=64)
    sealed_private_key = models.TextField()
    public_jwk = models.JSONField()
    created_at = models.DateTimeField(default=clock.now, editable=False)
    # It is published before it signs, so that verifiers know it by then.
    signs_from = models.DateTimeField(default=clock.now)
    # Unpublished from this moment on; set when a newer key takes over.
    retires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "kid"], name="signing_key_kid_unique")]
        indexes = [models.Index(fields=["workspace", "-created_at"], name="signing_key_newest")]

    def __str__(self) -> str:
        return self.kid


class ApiKey(models.Model):
    """A company's program. Only a hash of the key is kept; `prefix` is for people to tell keys apart."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="api_keys", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["workspace", "-created_at"], name="api_key_newest")]

    def __str__(self) -> str:
        return self.name


class Event(models.Model):
    """One row of the append-only log. Written by team.events alone."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="events", db_index=False)
    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=40)
    # What people filter by, from the kind (team.facets).
    type = models.CharField(max_length=13, choices=[(each.value, each.value.capitalize()) for each in Type])
    outcome = models.CharField(max_length=8, blank=True, choices=[(o.value, o.value.capitalize()) for o in Outcome])
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=8)
    actor_id = models.CharField(max_length=32, blank=True)
    actor_name = models.CharField(max_length=150, blank=True)
    conversation_id = models.CharField(max_length=32, blank=True)
    # The call, endpoint or person that the event is about.
    subject_id = models.CharField(max_length=40, blank=True)
    tool_name = models.CharField(max_length=64, blank=True)
    data = models.JSONField(default=dict)
    # Given once, soon after it was written (team.chain); a trigger refuses any other change.
    position = models.BigIntegerField(null=True, editable=False)
    previous_hash = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    hash = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "position"], name="event_position_unique")]
        indexes = [
            # What the chain has still to take up.
            models.Index(fields=["workspace", "id"], name="event_unlinked", condition=models.Q(position=None)),
            # The API's, oldest first.
            models.Index(fields=["workspace", "-id"], name="event_newest"),
            # The dashboard counts days with this one.
            models.Index(fields=["workspace", "kind", "-at"], name="event_by_kind"),
            # The Logs page: one for each filter, newest first.
            models.Index(fields=["workspace", "-at", "-id"], name="event_by_time"),
            models.Index(fields=["workspace", "type", "-at", "-id"], name="event_by_type"),
            models.Index(fields=["workspace", "actor_kind", "-at", "-id"], name="event_by_actor_kind"),
            *(
                models.Index(fields=["workspace", name, "-at", "-id"], name=f"event_by_{short}", condition=is_there)
                for name, short, is_there in [
                    ("outcome", "outcome", models.Q(outcome__gt="")),
                    ("tool_name", "tool", models.Q(tool_name__gt="")),
                    ("actor_id", "actor", models.Q(actor_id__gt="")),
                    ("conversation_id", "conversation", models.Q(conversation_id__gt="")),
                    ("subject_id", "subject", models.Q(subject_id__gt="")),
                ]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject_id}"


class ChainHead(models.Model):
    """How far a workspace's log is chained. `dropped_…` is the last event that retention took away, 0 for none."""

    workspace = models.OneToOneField(Workspace, on_delete=models.CASCADE, primary_key=True, related_name="+")
    position = models.BigIntegerField(default=0)
    hash = models.CharField(max_length=64, default=NOTHING_BEFORE)
    dropped_position = models.BigIntegerField(default=0)
    dropped_hash = models.CharField(max_length=64, default=NOTHING_BEFORE)

    def __str__(self) -> str:
        return f"{self.position} {self.hash}"


class ApiAnswer(models.Model):
    """What a POST with an Idempotency-Key was answered, kept for a day. Without `status` its request is not done."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+", db_index=False)
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    id = models.BigAutoField(primary_key=True)
    key = models.CharField(max_length=255)
    # The method, the path and the body that the key came with first.
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "api_key", "key"], name="api_answer_unique")]
        # The sweep's: answers of every workspace at once.
        indexes = [models.Index(fields=["created_at"], name="api_answer_oldest")]

    def __str__(self) -> str:
        return self.key


class ApiUse(models.Model):
    """How often a key read and wrote in one minute."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="+", db_index=False)
    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    id = models.BigAutoField(primary_key=True)
    minute = models.DateTimeField()
    reads = models.PositiveIntegerField(default=0)
    writes = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "api_key", "minute"], name="api_use_unique")]
        indexes = [models.Index(fields=["minute"], name="api_use_oldest")]

    def __str__(self) -> str:
        return f"{self.api_key_id} {self.minute:%H:%M}"
