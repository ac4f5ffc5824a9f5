"""What an event of the log says to people. Pure: an event's fields in, a sentence out.

An event that leaves a line in a thread says the same here (conversations.lines); a kind that nobody wrote a sentence
for is said by its own words.
"""

from collections.abc import Callable, Mapping
from typing import Final

from conversations import lines
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
        return text.sentence(lines.line(event.kind, facts).text)
    if event.kind in _MADE:
        return text.sentence(_MADE[event.kind](facts))
    said = _SENTENCES.get(event.kind, f"{{who}}: {event.kind.replace('.', ' ').replace('_', ' ')}")
    return text.sentence(facts.said(said))


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


def _sync_failed(facts: Facts) -> str:
    code = str(facts.data.get("code"))
    return f"{facts.data.get('url')} could not be synced: {failures.sentence(code, 'something else than 200')}"


_MADE: Final[Mapping[str, Callable[[Facts], str]]] = {
    Kind.RUN_COMPLETED: _ran,
    Kind.RUN_FAILED: _failed,
    Kind.TOOL_SWITCHED: _switched,
    Kind.SYNC_FAILED: _sync_failed,
}
# Of who, the agent's name, the tool's label and the event's own data.
_SENTENCES: Final[Mapping[str, str]] = {
    Kind.CONVERSATION_STARTED: "{who} started a conversation",
    Kind.CUSTOMER_WROTE: "{who} wrote",
    Kind.AGENT_REPLIED: "{who} replied",
    Kind.TEAMMATE_REPLIED: "{who} replied",
    Kind.NOTE_LEFT: "{who} left a note",
    Kind.TOOL_RATED: "{who} set the risk of {label} to {risk}, from {was}",
    Kind.ENDPOINT_ADDED: "{who} added the endpoint {url}",
    Kind.ENDPOINT_CHANGED: "{who} changed the endpoint {url}",
    Kind.ENDPOINT_REMOVED: "{who} removed the endpoint {url}",
    Kind.ENDPOINT_SYNCED: "{url} synced",
    Kind.HTTP_TOOL_SAVED: "{who} saved {label}",
    Kind.HTTP_TOOL_REMOVED: "{who} removed {label}",
    Kind.HTTP_TOOLS_IMPORTED: "{who} imported HTTP tools",
    Kind.TOOLS_PUBLISHED: "{who} published a version of the HTTP tools",
    Kind.SUBJECT_DROPPED: "A value from {who} for the subject of {label} was dropped",
    Kind.SIGNING_KEY_ROTATED: "{who} rotated the signing key",
    Kind.SESSION_REFUSED: "A session token was refused: {reason}",
    Kind.WORKSPACE_CLOSED: "{who} deleted the workspace",
    Kind.WORKSPACE_CHANGED: "{who} changed the workspace's settings",
    Kind.AGENT_CHANGED: "{who} changed the agent's name or instructions",
    Kind.INVITATION_MADE: "{who} invited {email} as {role}",
    Kind.INVITATION_WITHDRAWN: "{who} withdrew the invitation of {email}",
    Kind.TEAMMATE_JOINED: "{who} joined as {role}",
    Kind.TEAMMATE_RENAMED: "{who} is called {name} from now on",
    Kind.ROLE_CHANGED: "{who} made {name} {role}",
    Kind.TEAMMATE_REMOVED: "{who} removed {name} from the team",
    Kind.API_KEY_MADE: "{who} made the API key {name}",
    Kind.API_KEY_REVOKED: "{who} revoked the API key {name}",
    Kind.SAVED_REPLY_SAVED: "{who} wrote the saved reply {title}",
    Kind.SAVED_REPLY_REMOVED: "{who} deleted the saved reply {title}",
    Kind.WEBHOOK_ADDED: "{who} added a webhook to {host}",
    Kind.WEBHOOK_CHANGED: "{who} changed the webhook to {host}",
    Kind.WEBHOOK_REMOVED: "{who} removed the webhook to {host}",
    Kind.WEBHOOK_DISABLED: "The webhook to {host} was switched off, since nothing reaches it",
    Kind.ALERTS_SET_UP: "{who} set up alerts in {service}",
    Kind.ALERTS_REMOVED: "{who} removed the alerts in {service}",
    Kind.ALERTS_DISABLED: "Alerts in {service} stopped: {why}",
    Kind.ALERTS_MENDED: "Alerts in {service} work again",
    Kind.ALERT_FAILED: "The alert about {label} in {service} failed and is tried again: {why}",
    Kind.ALERT_GIVEN_UP: "The alert about {label} in {service} was given up: {why}",
    Kind.ALERTS_LINKED: "{who} linked {user} in {service}",
    Kind.ALERTS_UNLINKED: "{who} unlinked {user} in {service}",
    Kind.EMAIL_CHANNEL_CHANGED: "{who} changed how mail to {address} is received",
    Kind.EMAIL_CHANNEL_REMOVED: "{who} removed the address {address}",
    Kind.EMAIL_MAILBOX_FAILED: "No mail to {address} could be fetched: {why}",
    Kind.EMAIL_MAILBOX_MENDED: "Mail to {address} is fetched again",
    Kind.DISCORD_CHANNEL_CHANGED: "{who} set up how customers write in Discord",
    Kind.DISCORD_CHANNEL_REMOVED: "{who} removed the application for customers in Discord",
    Kind.DISCORD_CHANNEL_STOPPED: "Nothing is posted to customers in Discord: {why}",
    Kind.DISCORD_CHANNEL_MENDED: "Customers in Discord are answered again",
    Kind.PASSWORD_CHANGED: "{who} set a new password",
    Kind.SECOND_STEP_ADDED: "{who} added a second step to their sign-in",
    Kind.SECOND_STEP_REMOVED: "{who} took a second step off their sign-in",
    Kind.RECOVERY_CODES_MADE: "{who} made new recovery codes",
    Kind.SESSION_ENDED: "{who} signed out another session of theirs",
}
