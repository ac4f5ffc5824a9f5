"""The system sentences of a thread, made from events. Pure: an event's fields in, a sentence out.

A line is the same text for everybody; the name in it is who did it, as they were called then.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from median_site.lib import times
from median_site.lib.strict_json import Json
from team.events import Kind


class Line(NamedTuple):
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


def _expired(facts: Facts) -> Line:
    why = {
        "unanswered": "unanswered",
        "conversation_ended": "because the conversation ended",
        "endpoint_removed": "because its endpoint was removed",
    }[str(facts.data["because"])]
    return Line(f"the request to run {facts.label} expired {why}", "clock")


def _approved(facts: Facts) -> Line:
    return Line(f"{facts.who} approved running {facts.label}", "signoff")


def _denied(facts: Facts) -> Line:
    return Line(f"{facts.who} declined {facts.agent}’s request to run {facts.label}", "signoff")


def _taken_over(facts: Facts) -> Line:
    """From whoever had it: the agent, a teammate or nobody."""
    former = facts.data.get("from", facts.agent)
    return Line(f"{facts.who} took the thread over" + (f" from {former}" if former else ""), "user")


def _moment(iso: Json) -> str:
    return times.moment(datetime.fromisoformat(str(iso)))


LINES: Final[Mapping[str, Callable[[Facts], Line]]] = {
    Kind.APPROVAL_REQUESTED: lambda f: Line(f"{f.agent} asked the team to sign off on {f.label}", "signoff", True),
    Kind.APPROVAL_REVIEWING: lambda f: Line(
        f"{f.agent} asked to run {f.label}, and the reviewer is checking it", "review"
    ),
    Kind.APPROVAL_PASSED_ON: lambda f: Line(
        f"The reviewer passed the request to run {f.label} to the team", "review", True
    ),
    Kind.APPROVAL_UNCHECKED: lambda f: Line(
        f"The reviewer could not check the request to run {f.label}", "review", True
    ),
    Kind.APPROVED: _approved,
    Kind.DENIED: _denied,
    Kind.EXPIRED: _expired,
    Kind.RUN_STUCK: lambda f: Line(f"{f.label} did not run: the call never reported back", "failed", True),
    Kind.TURN_FAILED: lambda f: Line(f"{f.agent} could not answer: {f.data['reason']}", "failed", True),
    Kind.EMAIL_AUTOMATIC: lambda f: Line(f"An automatic reply came from {f.who}; nobody answers it", "email"),
    Kind.EMAIL_TOO_MANY: lambda f: Line(
        f"More mails came from {f.who} within an hour than people write; these are kept aside", "warn", True
    ),
    Kind.EMAIL_BOUNCED: lambda f: Line(
        f"The mail to {f.data['to']} could not be delivered: {f.data.get('why')}", "failed", True
    ),
    Kind.EMAIL_COMPLAINED: lambda f: Line(f"{f.data['to']} reported the mail as spam", "warn", True),
    Kind.EMAIL_RETRIED: lambda f: Line(f"{f.who} had the mail to {f.data['to']} sent again", "email"),
    Kind.EMAIL_FAILED: lambda f: Line(
        f"The reply to {f.data['to']} could not be sent: {f.data.get('why')}", "failed", True
    ),
    Kind.EMAIL_FILES_LEFT: lambda f: Line(f"A file of the mail was not kept: {f.data.get('why')}", "attach"),
    Kind.DISCORD_FAILED: lambda f: Line(
        f"The message of {f.data.get('of')} could not be posted in Discord: {f.data.get('why')}", "failed", True
    ),
    Kind.DISCORD_FILES_LEFT: lambda f: Line(f"A file out of Discord was not kept: {f.data.get('why')}", "attach"),
    Kind.TAKEN_OVER: _taken_over,
    Kind.HANDED_OVER: lambda f: Line(f"{f.who} handed the thread over to the team", "user", True),
    Kind.HANDED_BACK: lambda f: Line(f"{f.who} handed the thread back to {f.agent}", "user"),
    Kind.ASSIGNED: lambda f: Line(f"{f.who} assigned the thread to {f.data['to']}", "user"),
    Kind.UNASSIGNED: lambda f: Line(f"{f.who} took {f.data['from']} off the thread", "user"),
    Kind.ASSIGNEE_LEFT: lambda f: Line(
        f"{f.data['from']} is no longer in the team; nobody has the thread", "user", True
    ),
    Kind.SNOOZED: lambda f: Line(f"{f.who} snoozed the thread until {_moment(f.data['until'])}", "clock"),
    Kind.WOKEN: lambda f: Line(f"{f.who} ended the snooze", "clock"),
    Kind.SNOOZE_OVER: lambda f: Line("The snooze is over", "clock", True),
    Kind.RESOLVED: lambda f: Line(f"{f.who} resolved the conversation", "resolve"),
    Kind.CLOSED: lambda f: Line(f"{f.who} closed the conversation", "close"),
    Kind.ARCHIVED: lambda f: Line(f"{f.who} archived the conversation", "archive"),
    Kind.REOPENED: lambda f: Line(f"{f.who} reopened the conversation", "inbox"),
}


def of_many(kind: str, *, who: str, data: Mapping[str, Json]) -> Line:
    """The line of a kind as PostgreSQL's `format` takes it: of the agent's name and the tool's label, in this order."""
    facts = Facts(who=who.replace("%", "%%"), agent="%1$s", label="%2$s", data=data)
    return LINES[kind](facts)
