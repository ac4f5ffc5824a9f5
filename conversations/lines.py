"""The system sentences of a thread, made from events. Pure: an event's fields in, a sentence out.

A line is the same text for everybody; the name in it is who did it, as they were called then.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from median_site.lib import times
from median_site.lib.strict_json import Json
from team.events import Kind


class Line(NamedTuple):
    """`text` may have names of Facts in braces, until `line` puts them in."""

    text: str
    icon: str
    # The thread turns unread for everybody.
    unread: bool = False


class Facts(NamedTuple):
    """What a sentence may speak of: who, the agent's name, the tool's label, and the event's own data."""

    who: str
    agent: str
    label: str
    data: Mapping[str, Json]

    def said(self, template: str) -> str:
        """The template with what its names in braces stand for; nothing for what the event does not say."""
        return template.format_map(defaultdict(str, self.data, who=self.who, agent=self.agent, label=self.label))


def _expired(facts: Facts) -> Line:
    why = {
        "unanswered": "unanswered",
        "conversation_ended": "because the conversation ended",
        "endpoint_removed": "because its endpoint was removed",
    }[str(facts.data["because"])]
    return Line(f"the request to run {facts.label} expired {why}", "clock")


def _taken_over(facts: Facts) -> Line:
    """From whoever had it: the agent, a teammate or nobody."""
    former = facts.data.get("from", facts.agent)
    return Line(f"{facts.who} took the thread over" + (f" from {former}" if former else ""), "user")


def _snoozed(facts: Facts) -> Line:
    until = times.moment(datetime.fromisoformat(str(facts.data["until"])))
    return Line(f"{facts.who} snoozed the thread until {until}", "clock")


LINES: Final[Mapping[str, Line | Callable[[Facts], Line]]] = {
    Kind.APPROVAL_REQUESTED: Line("{agent} asked the team to sign off on {label}", "signoff", True),
    Kind.APPROVAL_REVIEWING: Line("{agent} asked to run {label}, and the reviewer is checking it", "review"),
    Kind.APPROVAL_PASSED_ON: Line("The reviewer passed the request to run {label} to the team", "review", True),
    Kind.APPROVAL_UNCHECKED: Line("The reviewer could not check the request to run {label}", "review", True),
    Kind.APPROVED: Line("{who} approved running {label}", "signoff"),
    Kind.DENIED: Line("{who} declined {agent}’s request to run {label}", "signoff"),
    Kind.EXPIRED: _expired,
    Kind.RUN_STUCK: Line("{label} did not run: the call never reported back", "failed", True),
    Kind.TURN_FAILED: Line("{agent} could not answer: {reason}", "failed", True),
    Kind.EMAIL_AUTOMATIC: Line("An automatic reply came from {who}; nobody answers it", "email"),
    Kind.EMAIL_TOO_MANY: Line(
        "More mails came from {who} within an hour than people write; these are kept aside", "warn", True
    ),
    Kind.EMAIL_BOUNCED: Line("The mail to {to} could not be delivered: {why}", "failed", True),
    Kind.EMAIL_COMPLAINED: Line("{to} reported the mail as spam", "warn", True),
    Kind.EMAIL_RETRIED: Line("{who} had the mail to {to} sent again", "email"),
    Kind.EMAIL_FAILED: Line("The reply to {to} could not be sent: {why}", "failed", True),
    Kind.EMAIL_FILES_LEFT: Line("A file of the mail was not kept: {why}", "attach"),
    Kind.DISCORD_FAILED: Line("The message of {of} could not be posted in Discord: {why}", "failed", True),
    Kind.DISCORD_FILES_LEFT: Line("A file out of Discord was not kept: {why}", "attach"),
    Kind.TAKEN_OVER: _taken_over,
    Kind.HANDED_OVER: Line("{who} handed the thread over to the team", "user", True),
    Kind.HANDED_BACK: Line("{who} handed the thread back to {agent}", "user"),
    Kind.ASSIGNED: Line("{who} assigned the thread to {to}", "user"),
    Kind.UNASSIGNED: Line("{who} took {from} off the thread", "user"),
    Kind.ASSIGNEE_LEFT: Line("{from} is no longer in the team; nobody has the thread", "user", True),
    Kind.SNOOZED: _snoozed,
    Kind.WOKEN: Line("{who} ended the snooze", "clock"),
    Kind.SNOOZE_OVER: Line("The snooze is over", "clock", True),
    Kind.RESOLVED: Line("{who} resolved the conversation", "resolve"),
    Kind.CLOSED: Line("{who} closed the conversation", "close"),
    Kind.ARCHIVED: Line("{who} archived the conversation", "archive"),
    Kind.REOPENED: Line("{who} reopened the conversation", "inbox"),
}


def line(kind: str, facts: Facts) -> Line:
    """The line of one of LINES' kinds."""
    made = LINES[kind]
    return made._replace(text=facts.said(made.text)) if isinstance(made, Line) else made(facts)


def of_many(kind: str, *, who: str, data: Mapping[str, Json]) -> Line:
    """The line of a kind as PostgreSQL's `format` takes it: of the agent's name and the tool's label, in this order."""
    facts = Facts(who=who.replace("%", "%%"), agent="%1$s", label="%2$s", data=data)
    return line(kind, facts)
