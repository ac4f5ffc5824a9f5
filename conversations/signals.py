"""Signals that this app sends to the apps above it, always inside the transaction and under the conversation's lock."""

from django.dispatch import Signal

# conversation: Conversation. It is new, and nobody else has seen it.
conversation_started = Signal()

# conversation: Conversation. The customer wrote, and the thread is open.
customer_wrote = Signal()

# conversation: Conversation. It is no longer open: what waits in it for a decision ends with it.
conversation_ended = Signal()

# conversation: Conversation. A teammate has it now, or the team has.
taken_over = Signal()

# conversation: Conversation. The agent has it again, or it is open again, whoever has it.
handed_back = Signal()
