"""Endpoints, tools of both kinds, syncs, versions, and every execution of a tool."""

from typing import Final, Literal, Self

from django.contrib.postgres.indexes import GinIndex
from django.db import models

from conversations.words import Words
from median_site.lib import clock, ids
from median_site.lib.actors import Actor, ActorKind, system


class EndpointKind(models.TextChoices):
    MANIFEST = "manifest"
    MCP = "mcp"


class Endpoint(models.Model):
    """A URL the company serves its tools from. A removed one keeps its row for the runs that went to it."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="endpoints", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    url = models.URLField(max_length=2000)
    kind = models.CharField(max_length=8, choices=EndpointKind, default=EndpointKind.MANIFEST, db_default="manifest")
    # Of an MCP server: its bearer token, empty when it wants none.
    sealed_secret = models.TextField(blank=True)
    # During a rotation the old secret signs too, until then.
    sealed_old_secret = models.TextField(blank=True)
    old_secret_until = models.DateTimeField(null=True, blank=True)
    etag = models.CharField(max_length=200, blank=True)
    sdk = models.CharField(max_length=100, blank=True)
    synced_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)
    failure = models.CharField(max_length=30, blank=True)
    failure_detail = models.CharField(max_length=500, blank=True)
    # Set by a job that asks for a sync; the agent process takes it and does the work.
    sync_due_at = models.DateTimeField(null=True, blank=True)
    # Tools of the last manifest that could not be taken: [{"name", "path", "reason", "code"}].
    refused = models.JSONField(default=list)
    removed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "url"], name="endpoint_url_unique", condition=models.Q(removed_at=None)
            )
        ]
        indexes = [
            models.Index(fields=["workspace", "created_at"], name="endpoint_list"),
            # The agent process's: it works for every workspace at once.
            models.Index(
                fields=["sync_due_at"], name="endpoint_sync_due", condition=models.Q(sync_due_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def is_rotating(self) -> bool:
        """Whether an old secret still signs beside the current one."""
        return bool(self.sealed_old_secret and self.old_secret_until and self.old_secret_until > clock.now())


class EndpointSync(models.Model):
    """One sync of an endpoint: when it began and ended, who wanted it, whether it worked, and what it changed."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="+", db_index=False)
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="syncs")
    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField()
    # None while it is out; one whose process died stays so.
    ended_at = models.DateTimeField(null=True, blank=True)
    by_name = models.CharField(max_length=150, blank=True)
    code = models.CharField(max_length=30, blank=True)
    detail = models.CharField(max_length=500, blank=True)
    # As tools.differences makes them, and their one line.
    changes = models.JSONField(default=list)
    summary = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes = [models.Index(fields=["workspace", "endpoint", "-id"], name="endpoint_sync_newest")]

    def __str__(self) -> str:
        return f"{self.endpoint_id} {self.code or 'ok'}"


class Risk(models.TextChoices):
    LOW = "low"
    MEDIUM = "medium"
    REVIEWED = "reviewed"
    HIGH = "high"


# Those whose calls by the agent leave only after somebody has approved them.
SIGNED_OFF: Final = (Risk.REVIEWED, Risk.HIGH)


class ToolQuerySet(models.QuerySet["Tool"]):
    def usable(self) -> Self:
        """Switched on, and in the last good sync of an endpoint that is not removed, or in the newest version.

        What one conversation has is tools.offered's: it may keep an older version.
        """
        return self.filter(switched_on=True, present=True, endpoint__removed_at=None)


class Tool(models.Model):
    """A tool as the last good sync or the newest version describes it. The switch is the team's and survives both."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="tools", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    # None: an HTTP tool, defined in Median itself.
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, null=True, blank=True, related_name="tools")
    # Of an HTTP tool, JSON text: how its request is made, as tools.http_definitions writes it.
    definition = models.TextField(blank=True)
    name = models.CharField(max_length=64)
    label = models.CharField(max_length=80)
    description = models.TextField()
    risk = models.CharField(max_length=8, choices=Risk, default=Risk.LOW)
    # Of an MCP server's tool whose risk a teammate set: the one that its annotations come to, who, and when.
    served_risk = models.CharField(max_length=8, choices=Risk, blank=True, db_default="")
    risk_set_by = models.CharField(max_length=150, blank=True, db_default="")
    risk_set_at = models.DateTimeField(null=True, blank=True)
    # JSON text, exactly as parsed from the manifest: jsonb would reorder its keys.
    input_schema = models.TextField()
    session_start = models.BooleanField(default=False)
    requires = models.CharField(max_length=100, blank=True)
    extra = models.JSONField(default=dict)
    content_hash = models.CharField(max_length=64)
    switched_on = models.BooleanField(default=True)
    present = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    objects = ToolQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="tool_name_unique")]

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> Literal["manifest", "http"]:
        return "manifest" if self.endpoint_id else "http"

    @property
    def served_by(self) -> str:
        """The id of its endpoint, as runs and requests keep it; empty for an HTTP tool."""
        return self.endpoint_id or ""


class HttpTool(models.Model):
    """A draft of an HTTP tool: what the next version will hold. Removing it takes the tool out of that version."""

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="http_tools", db_index=False)
    id = models.CharField(primary_key=True, max_length=32, default=ids.new_id, editable=False)
    name = models.CharField(max_length=64)
    # JSON text, as tools.http_definitions writes it.
    definition = models.TextField()
    created_at = models.DateTimeField(default=clock.now, editable=False)
    changed_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="http_tool_name_unique")]

    def __str__(self) -> str:
        return self.name


class ToolVersion(models.Model):
    """Every HTTP tool as it was published, for good. A conversation keeps the version it started with."""

    workspace = models.ForeignKey(
        "team.Workspace", on_delete=models.CASCADE, related_name="tool_versions", db_index=False
    )
    id = models.BigAutoField(primary_key=True)
    number = models.PositiveIntegerField()
    # JSON text: a list of definitions.
    definitions = models.TextField()
    published_at = models.DateTimeField()
    by_id = models.CharField(max_length=32, blank=True)
    by_name = models.CharField(max_length=150, blank=True)
    # The number of the version that this one is a copy of.
    restored_from = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["workspace", "number"], name="tool_version_number_unique")]

    def __str__(self) -> str:
        return f"Version {self.number}"


class RunState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class Starter(models.TextChoices):
    AGENT = "agent"
    TEAMMATE = "teammate"
    API = "api"
    SESSION_START = "session_start"
    TEST = "test"


# Of calls that no person started: the turn that asked for them sends them.
OWN: Final = (Starter.AGENT, Starter.SESSION_START)


class ToolRun(models.Model):
    """One execution of a tool. Its id is the call's id on the wire; an approved call's run has the request's id.

    The call leaves only after `queued` became `running`, which happens once (tools.runs); a row that is running when
    its process died is never sent again.
    """

    workspace = models.ForeignKey("team.Workspace", on_delete=models.CASCADE, related_name="runs", db_index=False)
    id = models.CharField(primary_key=True, max_length=40, default=ids.call_id, editable=False)
    conversation = models.ForeignKey(
        "conversations.Conversation", on_delete=models.CASCADE, null=True, blank=True, related_name="runs"
    )
    tool = models.ForeignKey(Tool, on_delete=models.SET_NULL, null=True, related_name="runs")
    # As they were when the run was asked for. Without an endpoint it is an HTTP tool's.
    endpoint_id = models.CharField(max_length=32, blank=True)
    tool_name = models.CharField(max_length=64)
    tool_label = models.CharField(max_length=80)
    risk = models.CharField(max_length=8, choices=Risk)
    # The exact text that was shown and that leaves.
    input = models.TextField()
    started_by = models.CharField(max_length=13, choices=Starter)
    by_id = models.CharField(max_length=32, blank=True)
    by_name = models.CharField(max_length=150, blank=True)
    # {"kind", "name", "at"} of an approved call.
    approval = models.JSONField(null=True, blank=True)
    turn_id = models.CharField(max_length=32, blank=True)
    # The sender's own id of a run by hand, which makes sending it again harmless.
    client_id = models.CharField(max_length=64, blank=True)
    # Of a test, which stands in no thread: the customer and the conversation that the endpoint is told of.
    tested_as = models.CharField(max_length=255, blank=True)
    tested_in = models.CharField(max_length=32, blank=True)
    state = models.CharField(max_length=9, choices=RunState, default=RunState.QUEUED)
    queued_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    # Published code and sentence of a failure, and what more is known of it; see tools.outcomes.
    code = models.CharField(max_length=30, blank=True)
    error = models.TextField(blank=True)
    detail = models.TextField(blank=True)
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    # {"reason", "detail"} when the tool said no.
    refusal = models.JSONField(null=True, blank=True)
    raw = models.TextField(blank=True)
    raw_flags = models.JSONField(default=list)
    # What the model is told, as JSON text.
    for_model = models.TextField(blank=True)
    headline = models.CharField(max_length=200, blank=True)
    rows = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "conversation", "by_id", "client_id"],
                name="run_client_id_unique",
                condition=~models.Q(client_id=""),
            )
        ]
        indexes = [
            models.Index(fields=["workspace", "tool", "-queued_at"], name="run_by_tool"),
            models.Index(fields=["workspace", "conversation", "-queued_at"], name="run_by_conversation"),
            # Which tools fail: counted from the first alone, the last fault found with the second.
            models.Index(
                fields=["workspace", "ended_at"],
                name="run_ended",
                include=["tool_name", "tool_label", "state", "started_by"],
            ),
            models.Index(
                fields=["workspace", "tool_name", "-ended_at"], name="run_failed", condition=models.Q(state="failed")
            ),
            # The claim loop's and the hourly check's: they work for every workspace at once.
            models.Index(fields=["queued_at"], name="run_queued", condition=models.Q(state="queued")),
            models.Index(fields=["started_at"], name="run_running", condition=models.Q(state="running")),
            # The queue's search.
            GinIndex("workspace", Words("input"), name="run_words", condition=models.Q(conversation__isnull=False)),
            models.Index(fields=["ended_at"], name="run_unwritten", condition=models.Q(state="completed", headline="")),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} {self.id}"

    @property
    def kind(self) -> Literal["manifest", "http"]:
        return "manifest" if self.endpoint_id else "http"

    @property
    def is_over(self) -> bool:
        return self.state in {RunState.COMPLETED, RunState.FAILED}

    @property
    def is_turns_own(self) -> bool:
        """Whether its turn sends it, with nobody's sign-off."""
        return self.started_by in OWN and not self.approval

    @property
    def starter(self) -> Actor:
        """Who the log names for what came of it: the agent, or whoever ran it by hand; else Median itself."""
        kinds = {
            Starter.TEAMMATE: ActorKind.TEAMMATE, Starter.API: ActorKind.API,
            Starter.AGENT: ActorKind.AGENT, Starter.SESSION_START: ActorKind.AGENT,
        }  # fmt: skip
        kind = kinds.get(Starter(self.started_by))
        if kind is None or self.approval:
            return system(self.workspace_id)
        return Actor(kind, self.workspace_id, id=self.by_id, name=self.by_name)

    @property
    def approver_name(self) -> str | None:
        """`approvedBy` on the wire: who approved, or the teammate or API that runs it by hand."""
        if self.approval:
            return str(self.approval["name"])
        if self.started_by == Starter.TEAMMATE:
            return Actor(ActorKind.TEAMMATE, self.workspace_id, name=self.by_name).approver_name
        return "the API" if self.started_by == Starter.API else None
