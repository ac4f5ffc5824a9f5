"""Signals that this app sends to the apps above it, always inside the transaction."""

from django.dispatch import Signal

# run: ToolRun, conversation: Conversation, locked; stuck: bool. The run has ended, well or not.
run_ended = Signal()

# endpoint: Endpoint. It was removed; calls that wait for it can never leave.
endpoint_removed = Signal()
