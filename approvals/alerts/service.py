"""What Slack and Discord have in common: the requests that Median makes of them, and what answers come to. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol

from approvals.alerts.wording import Shown
from approvals.models import Alert, AlertChannel
from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError
from tools.client import Answer, Failure, Outbound
from webhooks import outcomes

# done; limited: wait and try again, that was no failure; broken: try again later; unfit: the message is not accepted as
# it is; gone: the message that was to be rewritten is no more; off: somebody has to mend the channel first.
Verdict = Literal["done", "limited", "broken", "unfit", "gone", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a request. `error` is a sentence, empty when it is done; `message_id` is that of a new message."""

    verdict: Verdict
    error: str = ""
    message_id: str = ""
    wait: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """A press as the service told of it. `key` is its own id of it; `reply` is what a whisper to the presser needs."""

    key: str
    account: str
    user_id: str
    user_name: str
    approval_id: str
    approves: bool
    reply: str


class Reach(Protocol):
    """One of the two services. Tokens are the plain ones; nothing here touches the network or the database."""

    def message(self, channel: AlertChannel, *, token: str, alert: Alert, shown: Shown) -> Outbound:
        """Post the alert, or rewrite the message that it has."""

    def text(self, channel: AlertChannel, *, token: str, text: str) -> Outbound:
        """Post a sentence."""

    def whisper(self, *, token: str, user_id: str, reply: str, text: str) -> Outbound:
        """Tell the one who pressed, and nobody else."""

    def pressed(self, payload: Json) -> Pressed | None:
        """The press of Approve or Deny that a checked payload tells of; None for anything else."""

    def read(self, came: Answer | Failure) -> Told:
        """What the answer means."""


def at(value: Json, *path: str | int) -> str:
    """A text or number somewhere in a payload, as text; empty when it is not there."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return ""
    return strict_json.visible(str(value))[0] if isinstance(value, str | int | float) else ""


def parsed(came: Answer) -> Json:
    """The answer's JSON, None when it is none."""
    try:
        return strict_json.loads(came.body)
    except JsonError:
        return None


def broken(outcome: outcomes.Outcome, *, named: str = "") -> Told:
    """An answer, or none, that says nothing but to try again; `named` is the service's own word for it."""
    error = f"{outcome.error.removesuffix('.')} ({named})." if named else outcome.error
    verdict: Verdict = "limited" if outcome.status == 429 else "broken"
    return Told(verdict=verdict, error=error[:200], wait=outcome.wait)
