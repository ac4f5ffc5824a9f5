"""What Slack and Discord have in common: the requests that Median makes of them, and what answers come to. Pure."""

from dataclasses import dataclass
from typing import Protocol

from approvals.alerts.wording import Asked, Shown
from approvals.models import Alert, AlertChannel, AlertPress
from median_site.lib.strict_json import Json
from tools.client import Answer, Failure, Outbound
from webhooks.told import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """A press as the service told of it. `key` is its own id of it; `reply` is what a whisper to the presser needs.

    `is_form`: it is the form that asked for a reason to deny, sent off with `reason`.
    """

    key: str
    account: str
    user_id: str
    user_name: str
    approval_id: str
    approves: bool
    reply: str
    is_form: bool = False
    reason: str = ""


class Reach(Protocol):
    """One of the two services. Tokens are the plain ones; nothing here touches the network or the database."""

    def message(self, channel: AlertChannel, *, token: str, alert: Alert, shown: Shown) -> Outbound:
        """Post the alert, or rewrite the message that it has."""

    def text(self, channel: AlertChannel, *, token: str, text: str) -> Outbound:
        """Post a sentence."""

    def whisper(self, *, token: str, user_id: str, reply: str, text: str) -> Outbound:
        """Tell the one who pressed, and nobody else."""

    def asks(self, press: AlertPress, *, token: str, asked: Asked) -> Outbound | None:
        """Open a form for a reason to deny; None where that is an answer to the press itself."""

    def pressed(self, payload: Json) -> Pressed | None:
        """The press of Approve or Deny, or the form, that a checked payload tells of; None for anything else."""

    def read(self, came: Answer | Failure) -> Told:
        """What the answer means."""
