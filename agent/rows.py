"""The rows that make a turn durable: what was asked of the model, what it answered, which calls came of it."""

from typing import Final

from django.db import models

from median_site.lib import ids

# Why nothing came of a call whose arguments could not be read or did not fit.
UNREADABLE: Final = "invalid_arguments"


class TurnState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


class Turn(models.Model):
    """One reply of the agent. At most one runs and one waits in a conversation."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.CASCADE, related_name="turns")
    id = models.CharField(primary_key=True, max_length=32, default=ids.turn_id, editable=False)
    state = models.CharField(max_length=7, choices=TurnState, default=TurnState.QUEUED)
    # Why it started: a message, a denial, a run that ended, a hand-back.
    because = models.CharField(max_length=20)
    # Versions of the conversation: of the newest thing that asked for this turn, and the one that it read.
    needs = models.BigIntegerField(default=0)
    seen = models.BigIntegerField(null=True, blank=True)
    queued_at = models.DateTimeField()
    # The process that works on it, and when it last said so; a silent one's turn is taken up by another.
    claimed_by = models.CharField(max_length=64, blank=True)
    beat_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    ended_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True)
    # Not stored, said by a claim: the agent has not answered in this conversation yet.
    is_first = False

    class Meta:
        app_label = "agent"
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "conversation"], name="turn_one_running", condition=models.Q(state="running")
            ),
            models.UniqueConstraint(
                fields=["workspace", "conversation"], name="turn_one_queued", condition=models.Q(state="queued")
            ),
        ]
        indexes = [
            models.Index(fields=["workspace", "conversation", "-queued_at"], name="turn_by_conversation"),
            # The claim loop's: turns of every workspace at once.
            models.Index(fields=["queued_at"], name="turn_queued", condition=models.Q(state="queued")),
            models.Index(fields=["beat_at"], name="turn_running", condition=models.Q(state="running")),
        ]

    def __str__(self) -> str:
        return f"{self.because} {self.id}"


class Step(models.Model):
    """One answer of the model inside a turn. Written, with our own ids for its calls, before any of them leaves."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="steps")
    id = models.BigAutoField(primary_key=True)
    number = models.PositiveSmallIntegerField()
    text = models.TextField(blank=True)
    # In the model's order: {"id": ours, "name", "arguments": JSON text, "run": a run's id or "", "result": JSON text or
    # "" when it is the run's}; "unmade" says why nothing came of a call.
    calls = models.JSONField(default=list)

    class Meta:
        app_label = "agent"
        constraints = [models.UniqueConstraint(fields=["workspace", "turn", "number"], name="step_number_unique")]

    def __str__(self) -> str:
        return f"{self.turn_id} step {self.number}"

    @property
    def run_ids(self) -> set[str]:
        """The runs that its calls became."""
        return {call["run"] for call in self.calls if call["run"]}

    @property
    def broken(self) -> int:
        """How many of its calls could not be read or did not fit their tools."""
        return sum(call.get("unmade") == UNREADABLE for call in self.calls)


class ErrandKind(models.TextChoices):
    WRITE_UP = "write_up"
    LESSON = "lesson"


class Errand(models.Model):
    """Something to do beside the turns, about one run or conversation; see agent.errands."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=8, choices=ErrandKind)
    subject_id = models.CharField(max_length=40)
    # While a process works on it, when its claim ends.
    due_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        app_label = "agent"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "kind", "subject_id"], name="errand_subject_unique")
        ]
        # The claim loop's: errands of every workspace at once.
        indexes = [models.Index(fields=["kind", "due_at"], name="errand_due")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.subject_id}"


class ExchangeState(models.TextChoices):
    WAITING = "waiting"
    ANSWERED = "answered"
    FAILED = "failed"


class AssistantExchange(models.Model):
    """A teammate's question to the assistant and what came of it, which nobody else sees; see agent.assistant."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    teammate = models.ForeignKey("team.Teammate", on_delete=models.CASCADE, related_name="+")
    id = models.BigAutoField(primary_key=True)
    state = models.CharField(max_length=8, choices=ExchangeState, default=ExchangeState.WAITING)
    question = models.TextField()
    # What the page showed on which it was asked, and what the answer names: "thread:" or "request:" and an id.
    looking_at = models.CharField(max_length=50, blank=True)
    names = models.JSONField(default=list)
    answer = models.TextField(blank=True)
    # Requests that it puts before the teammate to be decided by them: their ids, and "approve" or "deny".
    proposes = models.JSONField(default=list)
    proposal = models.CharField(max_length=7, blank=True)
    # The demo model's name, which stands on what it writes; and why there is no answer.
    model = models.CharField(max_length=100, blank=True)
    error = models.CharField(max_length=500, blank=True)
    asked_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    # While a process works on it, when its claim ends.
    due_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        app_label = "agent"
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "teammate"], name="exchange_one_waiting", condition=models.Q(state="waiting")
            )
        ]
        indexes = [
            models.Index(fields=["workspace", "teammate", "-id"], name="exchange_by_teammate"),
            # The claim loop's: questions of every workspace at once.
            models.Index(fields=["due_at"], name="exchange_due", condition=models.Q(state="waiting")),
        ]

    def __str__(self) -> str:
        return f"{self.state} {self.id}"
