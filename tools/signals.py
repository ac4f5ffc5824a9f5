"""Signals that this app sends to the apps above it: what happened inside its transaction, questions whenever asked."""

from django.dispatch import Signal

# run: ToolRun, conversation: Conversation, locked; stuck: bool. The run has ended, well or not.
run_ended = Signal()

# endpoint: Endpoint. It was removed; calls that wait for it can never leave.
endpoint_removed = Signal()

# workspace_id: str, waiting: dict[str, int]. The receiver adds how many requests wait on each endpoint, by its id.
waiting_asked = Signal()
