"""Customers, conversations, and everything that stands in a thread, in one order."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models

from conversations.files import File
from conversations.words import Names, Words
from median_site.lib import clock, ids
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.strict_json import Json


class Customer(models.Model):
    """The person who writes in. `verified` only when the company's server signed their identity in a session token."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="customers", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    # The company's own id for a verified customer; for an anonymous one an opaque id of ours.
    subject = models.CharField(max_length=255)
    verified = models.BooleanField(default=False)
    # Claims of the page or the token, shown as such.
    name = models.CharField(max_length=150, blank=True)
    email = models.CharField(max_length=254, blank=True)
    page = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "verified", "subject"], name="customer_subject_unique")
        ]
        indexes = [
            GinIndex("workspace", OpClass(Names("name", "email", "subject"), "gin_trgm_ops"), name="customer_names")
        ]

    def __str__(self) -> str:
        return self.display_name

    @property
    def display_name(self) -> str:
        return self.name or self.email or f"Visitor {self.subject[-4:]}"

    @property
    def first_name(self) -> str:
        return self.name.split()[0] if self.name.split() else self.display_name

    @property
    def initials(self) -> str:
        words = self.name.split()
        return "".join(word[0] for word in (words[:1] + words[-1:] if len(words) > 1 else words)).upper() or "?"

    @property
    def person(self) -> str:
        """Whoever holds a session token of theirs, told apart from everybody else of the workspace."""
        return f"{'verified' if self.verified else 'anonymous'}:{self.subject}"

    @property
    def actor(self) -> Actor:
        return Actor(ActorKind.CUSTOMER, self.workspace_id, id=self.id, name=self.display_name)


class Channel(models.TextChoices):
    WIDGET = "widget"
    EMAIL = "email"
    DISCORD = "discord"
    API = "api", "API"


class Status(models.TextChoices):
    OPEN = "open"
    RESOLVED = "resolved"
    CLOSED = "closed"
    ARCHIVED = "archived"


class Handler(models.TextChoices):
    AGENT = "agent"
    TEAMMATE = "teammate"
    NOBODY = "nobody"


class Conversation(models.Model):
    """One thread with one customer on one channel.

    `version` counts every change that can be seen in the thread. It numbers the items, orders the pushes and tells a
    browser what it missed. It moves only under this row's lock (conversations.threads).
    """

    workspace = models.ForeignKey(
        "team.Workspace", on_delete=models.CASCADE, related_name="conversations", db_index=False
    )
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="conversations", db_index=False)
    channel = models.CharField(max_length=8, choices=Channel, default=Channel.WIDGET)
    status = models.CharField(max_length=8, choices=Status, default=Status.OPEN)
    handler = models.CharField(max_length=8, choices=Handler, default=Handler.AGENT)
    assignee = models.ForeignKey(
        "team.Teammate", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    # Out of the queue until then, by the clock; a message of the customer and whatever needs the team end it early.
    snoozed_until = models.DateTimeField(null=True, blank=True)
    version = models.BigIntegerField(default=0)
    # The number of the newest item that needs the team: the thread is unread for whoever has read less.
    attention = models.BigIntegerField(default=0)
    # What the queue shows, kept by conversations.threads.
    excerpt = models.CharField(max_length=200, blank=True)
    last_at = models.DateTimeField()
    # Kept, not counted: requests that a teammate must decide, and the newest one's label for the queue's marker.
    waiting = models.PositiveSmallIntegerField(default=0)
    mark = models.CharField(max_length=9, blank=True, choices=[(m, m) for m in ("waiting", "reviewing", "failed")])
    mark_label = models.CharField(max_length=80, blank=True)
    # Session token claims of the newest token seen, for entitlements.
    claims = models.JSONField(default=dict)
    claims_expire_at = models.DateTimeField(null=True, blank=True)
    # The number of the version of HTTP tools that was the newest when it started, which it keeps; 0: there was none.
    tool_version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    # What whoever asked for it has typed and not sent, [{"mode", "text", "version"}], the newest first: of one that
    # conversations.access found.
    own_drafts: Sequence[Mapping[str, Json]] = ()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "status", "-last_at", "-id"], name="conversation_queue"),
            models.Index(
                fields=["workspace", "assignee", "status", "-last_at", "-id"],
                name="conversation_mine",
                condition=models.Q(assignee__isnull=False),
            ),
            models.Index(fields=["workspace", "handler", "status", "-last_at", "-id"], name="conversation_handler"),
            models.Index(
                fields=["workspace", "-last_at", "-id"], name="conversation_waiting", condition=models.Q(waiting__gt=0)
            ),
            # A customer and a teammate are of one workspace, so that their foreign keys need no index beside these.
            models.Index(fields=["customer", "-last_at"], name="conversation_of_customer"),
            models.Index(
                fields=["assignee", "-last_at", "-id"],
                name="conversation_of_assignee",
                condition=models.Q(assignee__isnull=False),
            ),
            models.Index(fields=["workspace", "-last_at", "-id"], name="conversation_newest"),
            models.Index(fields=["workspace", "channel", "status", "-last_at", "-id"], name="conversation_channel"),
            # The same whatever the status, for searches and for what is over.
            models.Index(fields=["workspace", "channel", "-last_at", "-id"], name="conversation_channel_any"),
            # What ends snoozes works for every workspace at once.
            models.Index(
                fields=["snoozed_until"],
                name="conversation_snoozed",
                condition=models.Q(status=Status.OPEN, snoozed_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def is_open(self) -> bool:
        return self.status == Status.OPEN

    @property
    def is_snoozed(self) -> bool:
        return self.is_open and self.snoozed_until is not None and self.snoozed_until > clock.now()

    @property
    def agent_has_it(self) -> bool:
        return self.handler == Handler.AGENT

    def sent(self, client_id: str, *, kind: "ItemKind") -> "Item | None":
        """What its sender gave this id, if it is in the thread already; "" is no id."""
        return self.items.filter(kind=kind, ref=client_id).first() if client_id else None


class ItemKind(models.TextChoices):
    CUSTOMER = "customer"
    AGENT = "agent"
    TEAM = "team"
    NOTE = "note"
    LINE = "line"
    APPROVAL = "approval"
    RUN = "run"


# What the customer and the other side said to each other.
SAID: Final = [ItemKind.CUSTOMER, ItemKind.AGENT, ItemKind.TEAM]
# What somebody said or wrote, and search finds.
SPOKEN: Final = [*SAID, ItemKind.NOTE]


class Item(models.Model):
    """One thing in a thread: a message, a note, a line, or the place where a card stands.

    `number` is the conversation's version when it came and never changes; `version` is that when it last changed.
    A card's item holds only the id of its approval or run in `ref`; the apps above render it.
    """

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="items", db_index=False)
    id = models.BigAutoField(primary_key=True)
    number = models.BigIntegerField()
    version = models.BigIntegerField()
    kind = models.CharField(max_length=8, choices=ItemKind)
    text = models.TextField(blank=True)
    # What a mail quotes of earlier ones: not its writer's own words, and never an answer.
    quoted = models.TextField(blank=True, default="", db_default="")
    # Why a message did not reach the customer, as a sentence; empty if nobody says so.
    undelivered = models.CharField(max_length=250, blank=True, default="", db_default="")
    # NUL or broken characters in the text were replaced by visible ones.
    replaced = models.BooleanField(default=False)
    # Who wrote it, as they were called then.
    author_id = models.CharField(max_length=32, blank=True)
    author_name = models.CharField(max_length=150, blank=True)
    # The demo model's name, on every reply that it writes.
    model = models.CharField(max_length=40, blank=True)
    # For a line the event's kind, for a card its call's id; for a customer's message the sender's own id of it.
    ref = models.CharField(max_length=64, blank=True)
    # What was sent with it, as it is shown (see `sent`): a copy, since nothing about a sent file ever changes.
    files = models.JSONField(default=list, db_default=[])
    # Whom a note names: [id, name as it was then] each.
    mentions = models.JSONField(default=list, db_default=[])
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "conversation", "number"], name="item_number_unique"),
            models.UniqueConstraint(
                fields=["workspace", "conversation", "kind", "ref"],
                name="item_ref_unique",
                condition=~models.Q(ref="") & ~models.Q(kind=ItemKind.LINE),
            ),
        ]
        indexes = [
            # What changed since; and the foreign key's, for a conversation is of one workspace.
            models.Index(fields=["conversation", "version"], name="item_of_conversation"),
            GinIndex("workspace", Words("text"), name="item_words", condition=models.Q(kind__in=SPOKEN)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def sent(self) -> tuple[File, ...]:
        return tuple(File(**file) for file in self.files)

    @property
    def element_id(self) -> str:
        """Its id in the dashboard's pages: a card's is its call's, so that cards of several threads fit on one page."""
        return self.ref if self.kind in {ItemKind.APPROVAL, ItemKind.RUN} else f"item-{self.number}"


class Attachment(models.Model):
    """A file that came up to be sent with a message or a note; without an item it has not been sent.

    Before their first message a customer has no conversation; sending gives their files one.
    """

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+")
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, null=True, related_name="+")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, null=True, related_name="+")
    # An Actor's kind and id: only they may send it.
    uploader_kind = models.CharField(max_length=8)
    uploader_id = models.CharField(max_length=32)
    name = models.CharField(max_length=150)
    content_type = models.CharField(max_length=40)
    # Of the bytes that are kept.
    size = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="attachment_unsent", condition=models.Q(item=None))]

    def __str__(self) -> str:
        return self.name

    @property
    def file(self) -> File:
        return File(self.id, self.name, self.content_type, self.size, self.width, self.height)


class AttachmentBytes(models.Model):
    """The bytes of an attachment, apart from its row, so that nobody reads them by accident.

    A picture has two more: one of at most 480 pixels a side for threads, one of at most 1,024 for models.
    """

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+")
    attachment = models.OneToOneField(Attachment, on_delete=models.CASCADE, primary_key=True, related_name="bytes")
    data = models.BinaryField()
    thumbnail = models.BinaryField(null=True)
    reading = models.BinaryField(null=True)

    def __str__(self) -> str:
        return self.attachment_id


class ReadMark(models.Model):
    """How far a teammate has read a thread."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    teammate = models.ForeignKey("team.Teammate", on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="read_marks")
    id = models.BigAutoField(primary_key=True)
    number = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "conversation", "teammate"], name="read_mark_unique")
        ]

    def __str__(self) -> str:
        return f"{self.teammate_id} read {self.number}"


class Draft(models.Model):
    """What a teammate has typed into a thread and not sent. A note's never mixes with a reply's."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    teammate = models.ForeignKey("team.Teammate", on_delete=models.CASCADE, related_name="+")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="drafts")
    id = models.BigAutoField(primary_key=True)
    mode = models.CharField(max_length=5, choices=[("reply", "Reply"), ("note", "Note")])
    text = models.TextField(blank=True)
    # Milliseconds of the last save, or one more than before.
    version = models.BigIntegerField(default=0)
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "conversation", "teammate", "mode"], name="draft_unique")
        ]

    def __str__(self) -> str:
        return f"{self.teammate_id}'s {self.mode}"


class Lesson(models.Model):
    """A durable fact that a resolved conversation taught about its customer; the agent reads it in later ones."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="lessons")
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="lessons")
    text = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "customer", "text"], name="lesson_text_unique")]
        indexes = [models.Index(fields=["workspace", "customer", "-created_at"], name="lesson_by_customer")]

    def __str__(self) -> str:
        return self.text


class SavedReply(models.Model):
    """A reply that teammates insert from the slash menu."""

    workspace = models.ForeignKey(
        "team.Workspace", on_delete=models.CASCADE, related_name="saved_replies", db_index=False
    )
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    title = models.CharField(max_length=80)
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "title"], name="saved_reply_title_unique")]

    def __str__(self) -> str:
        return self.title


class WidgetUse(models.Model):
    """How often one session or address did something in one minute (conversations.widget_limits)."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    id = models.BigAutoField(primary_key=True)
    what = models.CharField(max_length=10)
    who = models.CharField(max_length=300)
    minute = models.DateTimeField()
    times = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "what", "who", "minute"], name="widget_use_unique")]
        indexes = [models.Index(fields=["minute"], name="widget_use_oldest")]

    def __str__(self) -> str:
        return f"{self.what} of {self.who}"
