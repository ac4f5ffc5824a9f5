"""What a risk means to the agent: the line that it adds to a tool's description. Pure."""

from collections.abc import Mapping
from typing import Final

LINES: Final[Mapping[str, str]] = {
    "low": "",
    "medium": "Ask the customer before you call this, and call it only after a clear yes.",
    "reviewed": (
        "Ask the customer to confirm this exact action first: end a message with one question that begins with “Shall"
        " I”, then says what this does in the words of its description and names every value, as in “Shall I refund"
        " ORD-1 in full?”. A reviewer then checks the call before it runs: tell the customer that it is being checked,"
        " and promise nothing."
    ),
    "high": (
        "A teammate must approve this call before it runs: tell the customer that it needs sign-off, and promise"
        " nothing."
    ),
}


def line(risk: str) -> str:
    """The line that this risk adds, "" for none."""
    return LINES[risk]
