"""Discord: messages as one embed, its answers, its presses. All that people or tools wrote is escaped, so that it is
text to Discord: no mention, no link in disguise, no formatting."""

import re
import string
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from django.conf import settings

from approvals.alerts import wording
from approvals.alerts.service import Pressed, Told, at, broken, parsed
from approvals.alerts.wording import Shown
from approvals.models import Alert, AlertChannel
from median_site.lib import clock, strict_json
from median_site.lib.strict_json import Json
from tools.client import Answer, Failure, Outbound
from webhooks import outcomes

# An embed's description may have 4,096 characters, all of an embed 6,000.
ROOM: Final = 2_900
_TITLE: Final = 250
_LINE: Final = 250
_SPECIAL: Final = re.compile(f"[{re.escape(string.punctuation)}]")
_NO_MENTIONS: Final[Json] = {"parse": []}
_EPHEMERAL: Final = 64
_DANGER, _SUCCESS, _LINK = 4, 3, 5
# By Discord's own numbers, else by the status.
_OFF: Final[Mapping[str, str]] = {
    "10003": "Discord finds no such channel.",
    "50001": "The bot is not in the server, or may not see the channel.",
    "50013": "The bot may not write in the channel.",
    "50083": "The channel is an archived thread.",
}
_STATUS_OFF: Final[Mapping[int, str]] = {
    401: "Discord does not know the bot token.",
    403: "The bot may not write in the channel.",
}
_GONE: Final = {"10008", "10015", "50027", "40060"}  # no such message; the interaction's token is over or used


class Discord:
    """See approvals.alerts.service.Reach."""

    def message(self, channel: AlertChannel, *, token: str, alert: Alert, shown: Shown) -> Outbound:
        body: dict[str, Json] = {
            "embeds": [_embed(shown, is_short=alert.is_short)],
            "components": [{"type": 1, "components": _buttons(shown, is_short=alert.is_short)}],
            "allowed_mentions": _NO_MENTIONS,
        }
        if alert.message_id:
            return _call("PATCH", f"channels/{channel.channel}/messages/{alert.message_id}", body, token=token)
        # Sent again within some minutes, it is the same message.
        body |= {"nonce": alert.id[-22:], "enforce_nonce": True}
        return _call("POST", f"channels/{channel.channel}/messages", body, token=token)

    def text(self, channel: AlertChannel, *, token: str, text: str) -> Outbound:
        body: dict[str, Json] = {"content": text, "allowed_mentions": _NO_MENTIONS}
        return _call("POST", f"channels/{channel.channel}/messages", body, token=token)

    def whisper(self, *, token: str, user_id: str, reply: str, text: str) -> Outbound:
        """`reply` is the application's id and the interaction's token, which is good for 15 minutes."""
        body: dict[str, Json] = {"content": text, "flags": _EPHEMERAL, "allowed_mentions": _NO_MENTIONS}
        return _call("POST", f"webhooks/{reply}", body)

    def pressed(self, payload: Json) -> Pressed | None:
        action, _, approval_id = at(payload, "data", "custom_id").partition(":")
        key = at(payload, "id")[:200]
        if at(payload, "type") != "3" or action not in {"approve", "deny"} or not key:
            return None
        user = ("member", "user") if at(payload, "member", "user", "id") else ("user",)
        return Pressed(
            key=key,
            account="",
            user_id=at(payload, *user, "id")[:32],
            user_name=at(payload, *user, "username")[:100],
            approval_id=approval_id[:40],
            approves=action == "approve",
            reply=f"{at(payload, 'application_id')}/{at(payload, 'token')}",
        )

    def read(self, came: Answer | Failure) -> Told:
        outcome = outcomes.read(came, now=clock.now())
        said = parsed(came) if isinstance(came, Answer) else None
        code = at(said, "code")
        if outcome.delivered:
            return Told(verdict="done", message_id=at(said, "id")[:32])
        if code in _GONE:
            return Told(verdict="gone", error="The message is no longer there.")
        if code in _OFF or outcome.status in _STATUS_OFF:
            return Told(verdict="off", error=_OFF.get(code) or _STATUS_OFF[outcome.status or 0])
        if outcome.status == 429:
            wait = max(outcome.wait, timedelta(seconds=_seconds(at(said, "retry_after"))))
            return Told(verdict="limited", error="Discord asked for a pause.", wait=wait)
        if outcome.status in {400, 500}:
            return Told(verdict="unfit", error=f"Discord answered {outcome.status} to the message.")
        return broken(outcome)


def escape(text: str) -> str:
    """Every character that may mean something to Discord, as itself."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _seconds(text: str) -> float:
    try:
        return min(max(float(text), 1), 86_400)
    except ValueError:
        return 1


def _call(method: str, path: str, body: dict[str, Json], *, token: str = "") -> Outbound:
    headers = {"Content-Type": "application/json", "User-Agent": f"DiscordBot ({settings.MEDIAN_URL}, 1)"}
    if token:
        headers["Authorization"] = f"Bot {token}"
    return Outbound(method, f"{settings.MEDIAN_DISCORD_API}/{path}", headers, strict_json.dumps(body).encode())


def _embed(shown: Shown, *, is_short: bool) -> Json:
    whole, fits = _input(shown, is_short=is_short)
    parts = [_cut(shown.about), whole, *map(_cut, shown.heeds), "" if fits else wording.SHORTENED, _cut(shown.outcome)]
    return {
        "title": wording.cut(shown.title, room=_TITLE, escape=escape),
        "url": shown.link,
        "description": "\n\n".join(filter(None, parts)),
    }


def _input(shown: Shown, *, is_short: bool) -> tuple[str, bool]:
    if is_short:
        return "", not shown.lines
    return wording.fit(shown.lines or ("No input",), room=ROOM, escape=escape)


def _cut(line: str) -> str:
    return wording.cut(line, room=_LINE, escape=escape)


def _buttons(shown: Shown, *, is_short: bool) -> list[Json]:
    opens: Json = {"type": 2, "style": _LINK, "label": "Open in Median", "url": shown.link}
    if not shown.decidable:
        return [opens]
    _, fits = _input(shown, is_short=is_short)
    deny: Json = {"type": 2, "style": _DANGER, "label": "Deny", "custom_id": f"deny:{shown.approval_id}"}
    approve: Json = {
        "type": 2, "style": _SUCCESS, "label": "Approve and run", "custom_id": f"approve:{shown.approval_id}",
    }  # fmt: skip
    return [deny, approve, opens] if fits else [deny, opens]
