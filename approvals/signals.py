"""Signals that this app sends to the agent, always inside the transaction and under the conversation's lock."""

from django.dispatch import Signal

# approval: ToolApproval, conversation: Conversation, locked. It was denied, or its run ended: the customer should know.
outcome_known = Signal()

# approval: ToolApproval, conversation: Conversation, locked. The reviewer did not decide it: the customer should know
# that a teammate has to.
left_to_team = Signal()
