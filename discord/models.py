"""A workspace's Discord application, what came in through it, where its threads are, and what is posted there."""

from django.db import models

from conversations.models import Conversation, Item
from median_site.lib import clock, ids


class DiscordChannel(models.Model):
    """The application through which a workspace's customers write, and the server that they write in."""

    workspace = models.OneToOneField("team.Workspace", on_delete=models.CASCADE, related_name="+")
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    # Discord's own ids and names.
    application_id = models.CharField(max_length=32)
    application_name = models.CharField(max_length=100)
    guild_id = models.CharField(max_length=32)
    public_key = models.CharField(max_length=64)
    sealed_token = models.TextField()
    # Why nothing can be posted, in a sentence, until somebody mends it.
    off = models.CharField(max_length=200, blank=True)
    # Discord asked for a pause until then.
    quiet_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    def __str__(self) -> str:
        return self.application_name


class DiscordPlace(models.Model):
    """Where a conversation goes on in Discord: a private thread, or the customer's direct messages with the bot."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    conversation = models.OneToOneField(Conversation, on_delete=models.CASCADE, primary_key=True, related_name="+")
    user_id = models.CharField(max_length=32)
    # The channel under which the thread is opened; empty for direct messages.
    parent = models.CharField(max_length=32, blank=True)
    # The thread, once it is open, or the direct messages; and whether the customer is in it.
    channel = models.CharField(max_length=32, blank=True)
    joined = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["workspace", "channel"], name="discord_place_channel")]

    def __str__(self) -> str:
        return self.channel or self.parent


class DiscordInteraction(models.Model):
    """A message of a customer as Discord told of it, acknowledged and yet to be put into its thread. Kept for a day."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    # Discord's own id of it.
    key = models.CharField(max_length=32)
    user_id = models.CharField(max_length=32)
    user_name = models.CharField(max_length=150)
    text = models.TextField(blank=True)
    # [name, URL] each.
    files = models.JSONField(default=list)
    # Where it was written; and the channel for a thread, which direct messages have none of.
    channel = models.CharField(max_length=32)
    parent = models.CharField(max_length=32, blank=True)
    # Where an answer for their eyes alone goes, if Discord waits for one.
    sealed_reply = models.TextField(blank=True)
    came_at = models.DateTimeField(default=clock.now)
    due_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    # What it became.
    item = models.OneToOneField(Item, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "key"], name="discord_interaction_once")]
        indexes = [
            models.Index(fields=["workspace", "user_id", "-came_at"], name="discord_interaction_user"),
            # The agent process's, and the sweep's.
            models.Index(fields=["due_at"], name="discord_interaction_due", condition=models.Q(due_at__isnull=False)),
            models.Index(fields=["came_at"], name="discord_interaction_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.user_name} {self.key}"


class PostState(models.TextChoices):
    WAITING = "waiting"
    POSTED = "posted"
    FAILED = "failed"


class DiscordPost(models.Model):
    """One item of a thread on its way to Discord, in as many messages as it takes."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+")
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    item = models.OneToOneField(Item, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=7, choices=PostState, default=PostState.WAITING)
    # How many of its messages are there.
    done = models.PositiveSmallIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    # When the next attempt is; while one is under way, when its claim ends.
    due_at = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    # Why it is not there.
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        indexes = [
            # The agent process's, of every workspace; and which of a thread's is the first.
            models.Index(fields=["due_at"], name="discord_post_due", condition=models.Q(state="waiting")),
            models.Index(
                fields=["conversation", "item"], name="discord_post_order", condition=models.Q(state="waiting")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_id} {self.state}"
