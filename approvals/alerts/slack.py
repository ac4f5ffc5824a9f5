"""Slack: messages as blocks, its answers, its presses. All that people or tools wrote goes out as plain text, escaped,
within the limits that Slack counts on the escaped text."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, TypedDict

from django.conf import settings

from approvals.alerts import wording
from approvals.alerts.service import Pressed
from approvals.alerts.wording import Asked, Shown
from approvals.models import Alert, AlertChannel, AlertPress
from median_site.lib import clock, secrets, strict_json
from median_site.lib.strict_json import Json
from tools.client import Answer, Failure, Outbound
from webhooks import outcomes
from webhooks.told import Told, at, broken, parsed

ROOM: Final = 2_900  # of 3,000 that a text may have
_HEADER: Final = 150
_CONTEXT: Final = 1_900  # of 2,000
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_OFF: Final[Mapping[str, str]] = {
    "not_authed": "Slack does not know the bot token.",
    "invalid_auth": "Slack does not know the bot token.",
    "token_revoked": "The app was removed from Slack.",
    "token_expired": "The bot token has expired.",
    "account_inactive": "The app was removed from Slack.",
    "channel_not_found": "Slack finds no such channel, or the app is not in it.",
    "not_in_channel": "The app is not in the channel. Invite it there.",
    "is_archived": "The channel is archived.",
    "missing_scope": "The app lacks the scope chat:write.",
    "restricted_action": "Slack’s settings do not let the app write in the channel.",
}
_UNFIT: Final = {"msg_too_long", "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"}
_GONE: Final = {"message_not_found", "cant_update_message", "edit_window_closed"}


class Slack:
    """See approvals.alerts.service.Reach."""

    def message(self, channel: AlertChannel, *, token: str, alert: Alert, shown: Shown) -> Outbound:
        body: dict[str, Json] = {
            "channel": channel.channel,
            "text": escape(f"{shown.title}. {shown.outcome}" if shown.outcome else shown.title),
            "blocks": _blocks(shown, is_short=alert.is_short),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if alert.message_id:
            return _call("chat.update", token, body | {"ts": alert.message_id})
        return _call("chat.postMessage", token, body)

    def text(self, channel: AlertChannel, *, token: str, text: str) -> Outbound:
        return _call("chat.postMessage", token, {"channel": channel.channel, "text": escape(text)})

    def whisper(self, *, token: str, user_id: str, reply: str, text: str) -> Outbound:
        """`reply` is the channel in which it was pressed."""
        body: dict[str, Json] = {"channel": reply, "user": user_id, "text": escape(text), "unfurl_links": False}
        return _call("chat.postEphemeral", token, body)

    def asks(self, press: AlertPress, *, token: str, asked: Asked) -> Outbound | None:
        """Slack takes it within three seconds of the press."""
        written: Json = {
            "type": "plain_text_input",
            "action_id": "reason",
            "multiline": True,
            "max_length": wording.REASON_LIMIT,
        }
        noted: dict[str, Json] = {"approval": asked.approval_id, "channel": secrets.unseal(press.sealed_reply)}
        view: dict[str, Json] = {
            "type": "modal", "callback_id": "deny", "private_metadata": strict_json.dumps(noted),
            "title": _escaped("Deny this request?"), "submit": _escaped("Deny"), "close": _escaped("Keep waiting"),
            "blocks": [
                {"type": "section", "text": _text(asked.about, room=ROOM)},
                {
                    "type": "input", "block_id": "reason", "optional": True, "label": _escaped(wording.REASON),
                    "element": written,
                },
            ],
        }  # fmt: skip
        return _call("views.open", token, {"trigger_id": press.key, "view": view})

    def pressed(self, payload: Json) -> Pressed | None:
        if at(payload, "type") == "view_submission":
            return _sent_off(payload)
        action = at(payload, "actions", 0, "action_id")
        key = at(payload, "trigger_id")[:200]
        if at(payload, "type") != "block_actions" or action not in {"approve", "deny"} or not key:
            return None
        return Pressed(
            key=key, **_presser(payload), approval_id=at(payload, "actions", 0, "value")[:40],
            approves=action == "approve", reply=at(payload, "channel", "id")[:32],
        )  # fmt: skip

    def read(self, came: Answer | Failure) -> Told:
        """Slack answers 200 to nearly everything; what went wrong is in its JSON."""
        outcome = outcomes.read(came, now=clock.now())
        said = parsed(came.body) if isinstance(came, Answer) else None
        if isinstance(said, dict) and said.get("ok") is True:
            return Told(verdict="done", said=said)
        error = at(said, "error")[:100]
        if error in _OFF:
            return Told(verdict="off", error=_OFF[error])
        if error in _UNFIT:
            return Told(verdict="unfit", error=f"Slack does not take the message: {error}.")
        if error in _GONE:
            return Told(verdict="gone", error=f"The message cannot be rewritten: {error}.")
        if error in {"ratelimited", "rate_limited"}:
            return Told(
                verdict="limited", error="Slack asked for a pause.", wait=max(outcome.wait, timedelta(seconds=1))
            )
        if outcome.delivered:
            return Told(verdict="broken", error=f"Slack refused: {error}." if error else "Its answer is not JSON.")
        return broken(outcome, named=error)


def _sent_off(payload: Json) -> Pressed | None:
    """The form for a reason; a form is sent off once, whatever Slack repeats."""
    key, noted = at(payload, "view", "id")[:200], parsed(at(payload, "view", "private_metadata"))
    if at(payload, "view", "callback_id") != "deny" or not key:
        return None
    return Pressed(
        key=key, **_presser(payload), approval_id=at(noted, "approval")[:40], approves=False,
        reply=at(noted, "channel")[:32], is_form=True,
        reason=at(payload, "view", "state", "values", "reason", "reason", "value"),
    )  # fmt: skip


class _Presser(TypedDict):
    account: str
    user_id: str
    user_name: str


def _presser(payload: Json) -> _Presser:
    return {
        "account": (at(payload, "user", "team_id") or at(payload, "team", "id"))[:32],
        "user_id": at(payload, "user", "id")[:32],
        "user_name": (at(payload, "user", "name") or at(payload, "user", "username"))[:100],
    }


def escape(text: str) -> str:
    """The three characters by which Slack would tell a mention or a link."""
    return text.translate(_ESCAPES)


def _call(method: str, token: str, body: dict[str, Json]) -> Outbound:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json; charset=utf-8"}
    return Outbound("POST", f"{settings.MEDIAN_SLACK_API}/{method}", headers, strict_json.dumps(body).encode())


def _blocks(shown: Shown, *, is_short: bool) -> list[Json]:
    whole, fits = wording.fit(shown.lines, room=ROOM, escape=escape)
    if is_short:
        whole, fits = "", not shown.lines
    blocks: list[Json] = [{"type": "header", "text": _text(shown.title, room=_HEADER)}, _context(shown.about)]
    if whole or not shown.lines:
        blocks.append({"type": "section", "text": _escaped(whole or "No input")})
    blocks += [_context(heed) for heed in shown.heeds]
    if not fits:
        blocks.append(_context(wording.SHORTENED))
    if shown.outcome:
        blocks.append({"type": "section", "text": _text(shown.outcome, room=ROOM)})
    presses = [_button("deny", "Deny", shown)] if shown.decidable else []
    if shown.decidable and fits:
        presses.append(_button("approve", "Approve and run", shown) | {"style": "primary"})
    opens: dict[str, Json] = {
        "type": "button", "action_id": "open", "text": _escaped("Open in Median"), "url": shown.link,
    }  # fmt: skip
    blocks.append({"type": "actions", "elements": [*presses, opens]})
    return blocks


def _button(action: str, label: str, shown: Shown) -> dict[str, Json]:
    return {"type": "button", "action_id": action, "text": _escaped(label), "value": shown.approval_id}


def _context(text: str) -> Json:
    return {"type": "context", "elements": [_text(text, room=_CONTEXT)]}


def _text(text: str, *, room: int) -> Json:
    return _escaped(wording.cut(text, room=room, escape=escape))


def _escaped(text: str) -> Json:
    return {"type": "plain_text", "text": text, "emoji": False}
