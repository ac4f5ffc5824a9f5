"""Signals that this app sends to the apps above it, always inside the transaction."""

from django.dispatch import Signal

# event: team.models.Event, the row just written.
event_recorded = Signal()
