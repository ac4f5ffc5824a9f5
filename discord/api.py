"""Discord's REST API: requests to it, what its answers mean, and text that is only text to it. Pure.

Alerts and the customers' channel both speak to Discord through here.
"""

import re
import string
from collections.abc import Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from django.conf import settings

from median_site.lib import clock, ids, strict_json
from median_site.lib.strict_json import Json
from tools.client import Answer, Failure, Limit, Outbound
from webhooks import outcomes
from webhooks.told import Told, at, broken, parsed

ANSWER_LIMIT: Final = Limit(bytes=100_000)
# With it nobody is mentioned, whatever a text says.
NO_MENTIONS: Final[Json] = {"parse": []}
EPHEMERAL: Final = 64  # for the eyes of one person
NO_EMBEDS: Final = 4  # no preview of a link

# Requests that Discord makes, and how they are answered.
PING, COMMAND, COMPONENT, FORM = "1", "2", "3", "5"
PONG: Final[Json] = {"type": 1}
THINKING: Final[Json] = {"type": 5, "data": {"flags": EPHEMERAL}}  # acknowledged; an answer for their eyes follows
LATER: Final[Json] = {"type": 6}  # acknowledged; nothing is shown for it

_SPECIAL: Final = re.compile(f"[{re.escape(string.punctuation)}]")
# By Discord's own numbers, else by the status.
_OFF: Final[Mapping[str, str]] = {
    "10003": "Discord finds no such channel.",
    "10004": "Discord finds no such server.",
    "10007": "The customer has left the server.",
    "10013": "Discord finds no such user.",
    "50001": "The bot is not in the server, or may not see the channel.",
    "50007": "The customer takes no direct messages from the bot.",
    "50013": "The bot may not write in the channel.",
    "50278": "The customer has left every server that the bot is in.",
    "50083": "The channel is an archived thread.",
    "160005": "The thread is locked.",
}
_STATUS_OFF: Final[Mapping[int, str]] = {
    401: "Discord does not know the bot token.",
    403: "The bot may not write in the channel.",
}
_GONE: Final = {"10008", "10015", "50027", "40060"}  # no such message; the interaction's token is over or used


class Upload(NamedTuple):
    name: str
    content_type: str
    data: bytes


def call(
    method: str, path: str, body: dict[str, Json] | None = None, *, token: str = "", file: Upload | None = None
) -> Outbound:
    """A request to the API. `token` is the bot's, none where the path holds the interaction's; `file` goes along."""
    headers = {"User-Agent": f"DiscordBot ({settings.MEDIAN_URL}, 1)"}
    if token:
        headers["Authorization"] = f"Bot {token}"
    data = strict_json.dumps(body).encode() if body is not None else b""
    if file:
        boundary = ids.new_id()
        headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
        data = _multipart(data, file, boundary=boundary.encode())
    elif body is not None:
        headers["Content-Type"] = "application/json"
    return Outbound(method, f"{settings.MEDIAN_DISCORD_API}/{path}", headers, data)


def read(came: Answer | Failure) -> Told:
    """What an answer means. Also a good one asks for a pause, if it used up what its route allows."""
    outcome = outcomes.read(came, now=clock.now())
    said = parsed(came.body) if isinstance(came, Answer) else None
    code = at(said, "code")
    if outcome.delivered:
        return Told(verdict="done", said=said, wait=_used_up(came))
    if code in _GONE:
        return Told(verdict="gone", error="The message is no longer there.", said=said)
    if code in _OFF or outcome.status in _STATUS_OFF:
        error = _OFF.get(code) or _STATUS_OFF[outcome.status or 0]
        return Told(verdict="off", error=error, said=said, everywhere=outcome.status == 401)
    if outcome.status == 429:
        wait = max(outcome.wait, _seconds(at(said, "retry_after"), least=1))
        everywhere = at(said, "global") == "True"
        return Told(verdict="limited", error="Discord asked for a pause.", said=said, wait=wait, everywhere=everywhere)
    if outcome.status in {400, 413, 500}:
        return Told(verdict="unfit", error=f"Discord answered {outcome.status} to the message.", said=said)
    return broken(outcome)


def escape(text: str) -> str:
    """Every character that may mean something to Discord, as itself."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def ask(custom_id: str, *, title: str, fields: list[Json]) -> Json:
    """The answer to a press that opens a form. A title has at most 45 characters, a `custom_id` 100."""
    return {"type": 9, "data": {"custom_id": custom_id, "title": title[:45], "components": fields}}


def text_field(name: str, *, label: str, most: int, required: bool) -> Json:
    """A text of several lines in a form."""
    written: Json = {"type": 4, "custom_id": name, "style": 2, "max_length": most, "required": required}
    return {"type": 18, "label": label, "component": written}


def _used_up(came: Answer | Failure) -> timedelta:
    headers = came.headers if isinstance(came, Answer) else {}
    if headers.get("x-ratelimit-remaining") != "0":
        return timedelta(0)
    return _seconds(headers.get("x-ratelimit-reset-after", ""), least=0)


def _seconds(text: str, *, least: float) -> timedelta:
    try:
        return timedelta(seconds=min(max(float(text), least), 86_400))
    except ValueError:
        return timedelta(seconds=least)


def _multipart(payload: bytes, file: Upload, *, boundary: bytes) -> bytes:
    """The body as a browser's form would have it, of the JSON and one file."""
    name = file.name.translate({ord('"'): "%22", ord("\r"): "%0D", ord("\n"): "%0A"}).encode()
    kind = file.content_type.encode()
    return (
        b'--%b\r\nContent-Disposition: form-data; name="payload_json"\r\nContent-Type: application/json\r\n\r\n%b\r\n'
        b'--%b\r\nContent-Disposition: form-data; name="files[0]"; filename="%b"\r\nContent-Type: %b\r\n\r\n%b\r\n'
        b"--%b--\r\n"
    ) % (boundary, payload, boundary, name, kind, file.data, boundary)
