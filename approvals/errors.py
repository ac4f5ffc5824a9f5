"""Why a request cannot be decided, in the published words."""

from median_site.lib.errors import DomainError


class AlreadyReviewed(DomainError):
    code = "already_reviewed"
    message = "This request has already been reviewed."


class ExpiredUnanswered(DomainError):
    code = "expired"
    message = "This request expired without a decision."


class ExpiredEnded(DomainError):
    code = "conversation_ended"
    message = "This request expired because the conversation ended."


class ExpiredRemoved(DomainError):
    code = "endpoint_removed"
    message = "This request expired because its endpoint was removed."


class ReasonTooLong(DomainError):
    code = "too_long"
    message = "A reason has at most 2,000 characters."
    status = 422


class StillWaiting(DomainError):
    """The agent asked again while its request is open."""

    code = "still_waiting"
    message = "A request to run this tool is still waiting for an answer."


class TooManyOpen(DomainError):
    code = "too_many_open"
    message = "Three requests of this conversation are waiting already."


class DeniedBefore(DomainError):
    """The agent asked for what was just denied, and the customer has not written since."""

    code = "denied_before"
    message = "The team denied exactly this. Ask again only after the customer has written again."
