"""Signals that this app sends to the agent, before the statement that brings them about (median_site.lib.statement)."""

from django.dispatch import Signal

# because: str, "denied" or "run_ended", statement: Statement, source: str, the part whose rows are the requests. They
# were denied, or their runs ended: the customers should know.
outcome_known = Signal()

# statement: Statement, source: str, as above. The reviewer did not decide them: the customers should know that a
# teammate has to.
left_to_team = Signal()
