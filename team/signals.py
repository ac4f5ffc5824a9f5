"""Signals that this app sends to the apps above it, always inside the transaction."""

from django.dispatch import Signal

# events: list[team.models.Event], the rows just written in one go.
events_recorded = Signal()

# rows: list[team.models.Notification], just written: what teammates are told personally.
notified = Signal()

# workspace_id: str. An owner deleted it: nothing of it may leave any more.
workspace_closed = Signal()

# teammate: team.models.Teammate, removed by: Actor. What they had in the workspace goes to others.
teammate_removed = Signal()

# workspace_id: str, events: list[team.models.Event] in their order, which just got their places in the log's chain.
# Each event is in one such list, once.
events_linked = Signal()

# entry: team.events.Entry, statement: median_site.lib.statement.Statement. A row of the log for each row of its part
# `moved` will be written by this statement: the receiver adds parts for what comes with them.
entry_added = Signal()
