"""Signals that this app sends to the apps above it: what happened inside its transaction, questions whenever asked."""

from django.dispatch import Signal

# run: ToolRun as it was asked for, failed: bool, stuck: bool, statement: median_site.lib.statement.Statement. The run,
# which is the statement's part `moved`, ends in it, well or not: receivers add what comes of that.
run_ended = Signal()

# endpoint: Endpoint. It was removed; calls that wait for it can never leave.
endpoint_removed = Signal()

# workspace_id: str, waiting: dict[str, int]. The receiver adds how many requests wait on each endpoint, by its id.
waiting_asked = Signal()
