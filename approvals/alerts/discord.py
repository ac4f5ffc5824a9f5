"""Discord: messages as one embed, its presses. All that people or tools wrote is escaped, so that it is
text to Discord: no mention, no link in disguise, no formatting."""

from typing import Final

from approvals.alerts import wording
from approvals.alerts.service import Pressed
from approvals.alerts.wording import Asked, Shown
from approvals.models import Alert, AlertChannel, AlertPress
from discord import api
from discord.api import EPHEMERAL, NO_MENTIONS, escape
from median_site.lib.strict_json import Json
from tools.client import Answer, Failure, Outbound
from webhooks.told import Told, at

# An embed's description may have 4,096 characters, all of an embed 6,000.
ROOM: Final = 2_900
_TITLE: Final = 250
_LINE: Final = 250
_DANGER, _SUCCESS, _LINK = 4, 3, 5


class Discord:
    """See approvals.alerts.service.Reach."""

    def message(self, channel: AlertChannel, *, token: str, alert: Alert, shown: Shown) -> Outbound:
        body: dict[str, Json] = {
            "embeds": [_embed(shown, is_short=alert.is_short)],
            "components": [{"type": 1, "components": _buttons(shown, is_short=alert.is_short)}],
            "allowed_mentions": NO_MENTIONS,
        }
        if alert.message_id:
            return api.call("PATCH", f"channels/{channel.channel}/messages/{alert.message_id}", body, token=token)
        # Sent again within some minutes, it is the same message.
        body |= {"nonce": alert.id[-22:], "enforce_nonce": True}
        return api.call("POST", f"channels/{channel.channel}/messages", body, token=token)

    def text(self, channel: AlertChannel, *, token: str, text: str) -> Outbound:
        body: dict[str, Json] = {"content": text, "allowed_mentions": NO_MENTIONS}
        return api.call("POST", f"channels/{channel.channel}/messages", body, token=token)

    def whisper(self, *, token: str, user_id: str, reply: str, text: str) -> Outbound:
        """`reply` is the application's id and the interaction's token, which is good for 15 minutes."""
        body: dict[str, Json] = {"content": text, "flags": EPHEMERAL, "allowed_mentions": NO_MENTIONS}
        return api.call("POST", f"webhooks/{reply}", body)

    def asks(self, press: AlertPress, *, token: str, asked: Asked) -> Outbound | None:
        """See `form`."""
        return None

    def pressed(self, payload: Json) -> Pressed | None:
        action, _, approval_id = at(payload, "data", "custom_id").partition(":")
        key, is_form = at(payload, "id")[:200], at(payload, "type") == api.FORM
        actions = {api.COMPONENT: {"approve", "deny"}, api.FORM: {"deny"}}.get(at(payload, "type"), set())
        if action not in actions or not key:
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
            is_form=is_form,
            reason=at(payload, "data", "components", 0, "component", "value"),
        )

    def read(self, came: Answer | Failure) -> Told:
        return api.read(came)


def form(asked: Asked) -> Json:
    """The answer to a press of Deny that opens the form for a reason."""
    return api.ask(
        f"deny:{asked.approval_id}",
        title=asked.title,
        fields=[api.text_field("reason", label=wording.REASON, most=wording.REASON_LIMIT, required=False)],
    )


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
