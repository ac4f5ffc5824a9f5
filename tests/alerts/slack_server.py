"""Slack in tests: its web API over a real socket, with its limits and its answers, and its signed presses."""

import hashlib
import hmac
import itertools
import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.http import HttpResponse
from django.test import Client

from median_site.lib import clock
from tests.alerts.json_server import Json, Reply, serving

TOKEN = "xoxb-fernhill-0123456789"
SECRET = "0123456789abcdef" * 2
CHANNEL = "C0FERNHILL"
TEAM = "T0FERNHILL"
FORM = "application/x-www-form-urlencoded"


@dataclass
class Slack:
    """`calls` are the methods and bodies that came; `messages` what the channel shows, by ts; `views` the forms that
    were opened, by id; `replies` go first."""

    url: str = ""
    calls: list[tuple[str, Json]] = field(default_factory=list)
    messages: dict[str, Json] = field(default_factory=dict)
    whispers: list[Json] = field(default_factory=list)
    views: dict[str, Json] = field(default_factory=dict)
    replies: deque[Reply] = field(default_factory=deque)
    _ts: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def answer(self, _: str, method: str, authorization: str, body: Json) -> Reply:
        self.calls.append((method, body))
        if self.replies:
            return self.replies.popleft()
        if method == "views.open":
            return self._open(body["view"])
        error = _error(authorization, body)
        if not error and method == "chat.update" and body["ts"] not in self.messages:
            error = "message_not_found"
        if error:
            return Reply(body={"ok": False, "error": error})
        ts = body.get("ts") or f"1764500000.{next(self._ts):06}"
        if method == "chat.postEphemeral":
            self.whispers.append(body)
        else:
            self.messages[ts] = body
        return Reply(body={"ok": True, "ts": ts, "channel": body["channel"]})

    def _open(self, view: Json) -> Reply:
        texts = [view["title"]["text"], view["submit"]["text"], view["close"]["text"]]
        if any(len(text) > 24 for text in texts) or len(view["private_metadata"]) > 3_000:
            return Reply(body={"ok": False, "error": "invalid_arguments"})
        id = f"V{len(self.views)}"
        self.views[id] = view | {"id": id}
        return Reply(body={"ok": True, "view": self.views[id]})

    @property
    def message(self) -> Json:
        """The only one there is."""
        [body] = self.messages.values()
        return body


def texts(body: Json) -> list[str]:
    """What a reader sees of a message's blocks, buttons apart."""
    found = []
    for block in body["blocks"]:
        for holder in (block.get("text"), *(block["elements"] if block["type"] == "context" else ())):
            if holder:
                found.append(holder["text"].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    return found


def buttons(body: Json) -> list[str]:
    return [
        element["action_id"] for block in body["blocks"] if block["type"] == "actions" for element in block["elements"]
    ]


def press(
    workspace_id: str, action: str, approval_id: str, *, user: str = "U0SAM", team: str = TEAM, trigger: str = "",
    **headers: str,
) -> HttpResponse:  # fmt: skip
    """Press a button as Slack tells of it."""
    body = pressed(action, approval_id, user=user, team=team, trigger=trigger)
    path = f"/alerts/slack/{workspace_id}/"
    return Client().post(path, body, content_type=FORM, headers=signed(body) | headers)


def pressed(action: str, approval_id: str, *, user: str, team: str = TEAM, trigger: str = "") -> str:
    """The body of such a request."""
    payload = {
        "type": "block_actions",
        "trigger_id": trigger or f"{next(_triggers)}.trigger",
        "team": {"id": TEAM},
        "user": {"id": user, "name": user.lower(), "team_id": team},
        "channel": {"id": CHANNEL},
        "actions": [{"action_id": action, "value": approval_id, "type": "button"}],
    }
    return urlencode({"payload": json.dumps(payload)})


def send_off(workspace_id: str, view: Json, *, reason: str | None, user: str = "U0SAM") -> HttpResponse:
    """Fill in the form and send it off as Slack tells of it."""
    state = {"values": {"reason": {"reason": {"type": "plain_text_input", "value": reason}}}}
    who = {"id": user, "username": user.lower(), "name": user.lower(), "team_id": TEAM}
    payload = {"type": "view_submission", "team": {"id": TEAM}, "user": who, "view": view | {"state": state}}
    body = urlencode({"payload": json.dumps(payload)})
    return Client().post(f"/alerts/slack/{workspace_id}/", body, content_type=FORM, headers=signed(body))


def signed(body: str, *, secret: str = SECRET, ahead_s: int = 0, timestamp: str = "") -> dict[str, str]:
    timestamp = timestamp or str(int(clock.now().timestamp()) + ahead_s)
    mac = hmac.new(secret.encode(), f"v0:{timestamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={mac}"}


_triggers = itertools.count(1)


def _error(authorization: str, body: Json) -> str:
    """Slack's own checks, on the texts as they were sent."""
    if authorization != f"Bearer {TOKEN}":
        return "invalid_auth"
    if body["channel"] != CHANNEL:
        return "channel_not_found"
    blocks = body.get("blocks", [])
    limits = {"header": 150, "section": 3_000}
    too_long = any(len(block["text"]["text"]) > limits[block["type"]] for block in blocks if block["type"] in limits)
    return "invalid_blocks" if too_long or len(blocks) > 50 else ""


@contextmanager
def slack_server() -> Iterator[Slack]:
    slack = Slack()
    with serving(slack.answer) as slack.url:
        yield slack
