"""What an event of the log says to people. Pure: an event's fields in, a sentence out.

An event that leaves a line in a thread says the same here (conversations.lines); a kind that nobody wrote a sentence
for is said by its own words.
"""

from collections.abc import Callable, Mapping
from typing import Final

from conversations.lines import LINES, Facts
from median_site.lib import text
from median_site.lib.actors import Actor, ActorKind
from team.events import Kind
from team.models import Event
from tools import failures, outcomes

_CALL_FAILURES: Final[Mapping[str, str]] = {
    "timed_out": outcomes.TIMED_OUT,
    "unreachable": outcomes.TIMED_OUT,
    "redirected": outcomes.REDIRECTED,
    "too_big": outcomes.TOO_MUCH,
    "blocked_address": outcomes.BLOCKED_ADDRESS,
    "no_result": outcomes.NO_RESULT,
    "broken_answer": outcomes.NO_RESULT,
    "bad_encoding": outcomes.NO_RESULT,
}


def sentence(event: Event, *, agent: str) -> str:
    """One sentence without a full stop, in words that do not change. `agent` is the workspace's name for it."""
    by = Actor(ActorKind(event.actor_kind), event.workspace_id, id=event.actor_id, name=event.actor_name)
    label = str(event.data.get("label") or event.tool_name)
    facts = Facts(who=by.short_name or by.approver_name, agent=agent, label=label, data=event.data)
    if event.kind in LINES:
        return text.sentence(LINES[event.kind](facts).text)
    make = _SENTENCES.get(event.kind)
    return text.sentence(make(facts) if make else f"{facts.who}: {event.kind.replace('.', ' ').replace('_', ' ')}")


def _ran(facts: Facts) -> str:
    refused = facts.data.get("refused")
    ran = _RAN.get(str(facts.data.get("started_by")), _RAN["agent"])(facts)
    return f"{ran}, and the tool refused: {refused}" if refused else ran


def _failed(facts: Facts) -> str:
    status, code = facts.data.get("http_status"), str(facts.data.get("code"))
    why = _CALL_FAILURES.get(code) or (f"The endpoint answered {status}." if status else code.replace("_", " "))
    tested = f" in a test by {facts.data.get('by')}" if facts.data.get("started_by") == "test" else ""
    return f"{facts.label} did not run{tested}: {why}"


def _ran_by_agent(facts: Facts) -> str:
    """An approved call ran by itself: who approved it stands in the line before."""
    alone = facts.data.get("started_by") == "agent" and facts.data.get("risk") in {"low", "medium"}
    return f"{facts.agent} ran {facts.label}" if alone else f"{facts.label} ran"


_RAN: Final[Mapping[str, Callable[[Facts], str]]] = {
    "agent": _ran_by_agent,
    "teammate": lambda f: f"{f.who} ran {f.label}",
    "api": lambda f: f"{f.who} ran {f.label}",
    "session_start": lambda f: f"{f.label} ran at the start of the conversation",
    "test": lambda f: f"{f.data.get('by')} tested {f.label}",
}


def _switched(facts: Facts) -> str:
    return f"{facts.who} switched {'on' if facts.data.get('on') else 'off'} {facts.label}"


def _rated(facts: Facts) -> str:
    return f"{facts.who} set the risk of {facts.label} to {facts.data.get('risk')}, from {facts.data.get('was')}"


def _sync_failed(facts: Facts) -> str:
    code = str(facts.data.get("code"))
    return f"{facts.data.get('url')} could not be synced: {failures.sentence(code, 'something else than 200')}"


def _refused(facts: Facts) -> str:
    return f"A session token was refused: {facts.data.get('reason')}"


def _alert(facts: Facts) -> str:
    return f"The alert about {facts.label} in {facts.data.get('service')}"


_SENTENCES: Final[Mapping[str, Callable[[Facts], str]]] = {
    Kind.CONVERSATION_STARTED: lambda f: f"{f.who} started a conversation",
    Kind.CUSTOMER_WROTE: lambda f: f"{f.who} wrote",
    Kind.AGENT_REPLIED: lambda f: f"{f.who} replied",
    Kind.TEAMMATE_REPLIED: lambda f: f"{f.who} replied",
    Kind.NOTE_LEFT: lambda f: f"{f.who} left a note",
    Kind.RUN_COMPLETED: _ran,
    Kind.RUN_FAILED: _failed,
    Kind.TOOL_SWITCHED: _switched,
    Kind.TOOL_RATED: _rated,
    Kind.ENDPOINT_ADDED: lambda f: f"{f.who} added the endpoint {f.data.get('url')}",
    Kind.ENDPOINT_CHANGED: lambda f: f"{f.who} changed the endpoint {f.data.get('url')}",
    Kind.ENDPOINT_REMOVED: lambda f: f"{f.who} removed the endpoint {f.data.get('url')}",
    Kind.ENDPOINT_SYNCED: lambda f: f"{f.data.get('url')} synced",
    Kind.SYNC_FAILED: _sync_failed,
    Kind.HTTP_TOOL_SAVED: lambda f: f"{f.who} saved {f.label}",
    Kind.HTTP_TOOL_REMOVED: lambda f: f"{f.who} removed {f.label}",
    Kind.HTTP_TOOLS_IMPORTED: lambda f: f"{f.who} imported HTTP tools",
    Kind.TOOLS_PUBLISHED: lambda f: f"{f.who} published a version of the HTTP tools",
    Kind.SUBJECT_DROPPED: lambda f: f"A value from {f.who} for the subject of {f.label} was dropped",
    Kind.SIGNING_KEY_ROTATED: lambda f: f"{f.who} rotated the signing key",
    Kind.SESSION_REFUSED: _refused,
    Kind.WORKSPACE_CLOSED: lambda f: f"{f.who} deleted the workspace",
    Kind.WORKSPACE_CHANGED: lambda f: f"{f.who} changed the workspace's settings",
    Kind.AGENT_CHANGED: lambda f: f"{f.who} changed the agent's name or instructions",
    Kind.INVITATION_MADE: lambda f: f"{f.who} invited {f.data.get('email')} as {f.data.get('role')}",
    Kind.INVITATION_WITHDRAWN: lambda f: f"{f.who} withdrew the invitation of {f.data.get('email')}",
    Kind.TEAMMATE_JOINED: lambda f: f"{f.who} joined as {f.data.get('role')}",
    Kind.TEAMMATE_RENAMED: lambda f: f"{f.who} is called {f.data.get('name')} from now on",
    Kind.ROLE_CHANGED: lambda f: f"{f.who} made {f.data.get('name')} {f.data.get('role')}",
    Kind.TEAMMATE_REMOVED: lambda f: f"{f.who} removed {f.data.get('name')} from the team",
    Kind.API_KEY_MADE: lambda f: f"{f.who} made the API key {f.data.get('name')}",
    Kind.API_KEY_REVOKED: lambda f: f"{f.who} revoked the API key {f.data.get('name')}",
    Kind.SAVED_REPLY_SAVED: lambda f: f"{f.who} wrote the saved reply {f.data.get('title')}",
    Kind.SAVED_REPLY_REMOVED: lambda f: f"{f.who} deleted the saved reply {f.data.get('title')}",
    Kind.WEBHOOK_ADDED: lambda f: f"{f.who} added a webhook to {f.data.get('host')}",
    Kind.WEBHOOK_CHANGED: lambda f: f"{f.who} changed the webhook to {f.data.get('host')}",
    Kind.WEBHOOK_REMOVED: lambda f: f"{f.who} removed the webhook to {f.data.get('host')}",
    Kind.WEBHOOK_DISABLED: lambda f: f"The webhook to {f.data.get('host')} was switched off, since nothing reaches it",
    Kind.ALERTS_SET_UP: lambda f: f"{f.who} set up alerts in {f.data.get('service')}",
    Kind.ALERTS_REMOVED: lambda f: f"{f.who} removed the alerts in {f.data.get('service')}",
    Kind.ALERTS_DISABLED: lambda f: f"Alerts in {f.data.get('service')} stopped: {f.data.get('why')}",
    Kind.ALERTS_MENDED: lambda f: f"Alerts in {f.data.get('service')} work again",
    Kind.ALERT_FAILED: lambda f: f"{_alert(f)} failed and is tried again: {f.data.get('why')}",
    Kind.ALERT_GIVEN_UP: lambda f: f"{_alert(f)} was given up: {f.data.get('why')}",
    Kind.ALERTS_LINKED: lambda f: f"{f.who} linked {f.data.get('user')} in {f.data.get('service')}",
    Kind.ALERTS_UNLINKED: lambda f: f"{f.who} unlinked {f.data.get('user')} in {f.data.get('service')}",
    Kind.EMAIL_CHANNEL_CHANGED: lambda f: f"{f.who} changed how mail to {f.data.get('address')} is received",
    Kind.EMAIL_CHANNEL_REMOVED: lambda f: f"{f.who} removed the address {f.data.get('address')}",
    Kind.EMAIL_MAILBOX_FAILED: lambda f: f"No mail to {f.data.get('address')} could be fetched: {f.data.get('why')}",
    Kind.EMAIL_MAILBOX_MENDED: lambda f: f"Mail to {f.data.get('address')} is fetched again",
    Kind.DISCORD_CHANNEL_CHANGED: lambda f: f"{f.who} set up how customers write in Discord",
    Kind.DISCORD_CHANNEL_REMOVED: lambda f: f"{f.who} removed the application for customers in Discord",
    Kind.DISCORD_CHANNEL_STOPPED: lambda f: f"Nothing is posted to customers in Discord: {f.data.get('why')}",
    Kind.DISCORD_CHANNEL_MENDED: lambda f: "Customers in Discord are answered again",
    Kind.PASSWORD_CHANGED: lambda f: f"{f.who} set a new password",
    Kind.SECOND_STEP_ADDED: lambda f: f"{f.who} added a second step to their sign-in",
    Kind.SECOND_STEP_REMOVED: lambda f: f"{f.who} took a second step off their sign-in",
    Kind.RECOVERY_CODES_MADE: lambda f: f"{f.who} made new recovery codes",
    Kind.SESSION_ENDED: lambda f: f"{f.who} signed out another session of theirs",
}
