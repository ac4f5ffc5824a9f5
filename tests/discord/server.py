"""Discord in the tests of the customers' channel: its API over a real socket, with its limits, its threads and its
probes of the address that it tells, and its signed interactions in the shapes that its documents show."""

import itertools
import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.db import connections
from django.http import HttpResponse
from django.test import Client

from median_site.lib import clock
from tests.alerts.discord_server import KEY, PUBLIC
from tests.alerts.json_server import Json, Reply, serving

TOKEN = "MTIzNDU2Nzg5.customers.0123456789"
APPLICATION = "222222222222222222"
GUILD = "333333333333333333"
CHANNEL = "444444444444444444"
DIRECT = "555555555555555555"
GRETL = {"id": "284019377551998464", "username": "gretl", "global_name": "Gretl"}

_ids = itertools.count(9 * 10**17)


@dataclass
class Message:
    channel: str
    body: Json

    @property
    def text(self) -> str:
        return self.body.get("content", "")

    @property
    def buttons(self) -> list[str]:
        return [button["custom_id"] for row in self.body.get("components", []) for button in row["components"]]


@dataclass
class Thread:
    parent: str
    name: str
    members: set[str] = field(default_factory=set)


@dataclass
class Discord:
    """`calls` are what came; `replies` go first; `originals` the answers to commands, by the interaction's token."""

    url: str = ""
    application: Json = field(default_factory=lambda: {"id": APPLICATION, "name": "Fernhill", "verify_key": PUBLIC})
    guilds: dict[str, str] = field(default_factory=lambda: {GUILD: "Fernhill’s kettles"})
    commands: dict[str, Json] = field(default_factory=dict)
    threads: dict[str, Thread] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    originals: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    replies: deque[Reply | None] = field(default_factory=deque)
    nonces: dict[str, str] = field(default_factory=dict)

    def answer(self, method: str, path: str, authorization: str, body: Json) -> Reply:
        self.calls.append(f"{method} {path}")
        if self.replies and (planned := self.replies.popleft()):
            return planned
        match [method, *path.split("/")]:
            case ["GET", "cdn", name]:
                return Reply(data=self.files[name]) if name in self.files else Reply(404)
            case ["PATCH", "webhooks", _, token, "messages", "@original"]:
                self.originals[token] = body["content"]
                return Reply(body={"id": "1"})
            case _ if authorization != f"Bot {TOKEN}":
                return Reply(401, {"code": 0, "message": "401: Unauthorized"})
            case ["GET", "applications", "@me"]:
                return Reply(body=self.application)
            case ["PATCH", "applications", "@me"]:
                return self._probe(body["interactions_endpoint_url"])
            case ["GET", "guilds", id]:
                known = id in self.guilds
                return Reply(body={"id": id, "name": self.guilds[id]}) if known else Reply(403, {"code": 50001})
            case ["POST", "applications", _, "commands"]:
                self.commands[body["name"]] = body
                return Reply(201, {"id": "7"})
            case ["POST", "channels", parent, "threads"]:
                return self._open(parent, body)
            case ["PUT", "channels", thread, "thread-members", user] if thread in self.threads:
                self.threads[thread].members.add(user)
                return Reply(204, data=b"")
            case ["POST", "channels", channel, "messages"] if channel in self.threads or channel == DIRECT:
                return self._post(channel, body)
        return Reply(404, {"code": 10003, "message": "Unknown Channel"})

    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    def _open(self, parent: str, body: Json) -> Reply:
        if parent != CHANNEL:
            return Reply(403, {"code": 50001, "message": "Missing Access"})
        assert (body["type"], body["invitable"]) == (12, False)
        assert 1 <= len(body["name"]) <= 100
        id = str(next(_ids))
        self.threads[id] = Thread(parent, body["name"])
        return Reply(201, {"id": id, "name": body["name"]})

    def _post(self, channel: str, body: Json) -> Reply:
        text = body.get("content", "")
        assert body["allowed_mentions"] == {"parse": []}
        assert len(body["nonce"]) <= 25
        if len(text.encode("utf-16-le")) // 2 > 2_000 or not (text.strip() or body.get("files")):
            return Reply(400, {"code": 50035, "message": "Invalid Form Body"})
        if body["nonce"] not in self.nonces:
            self.nonces[body["nonce"]] = str(next(_ids))
            self.messages.append(Message(channel, body))
        return Reply(body={"id": self.nonces[body["nonce"]]})

    def _probe(self, address: str) -> Reply:
        """Discord takes an address that knows a right signature from a wrong one."""
        path, ping = urlsplit(address).path, b'{"type":1}'
        try:
            right, wrong = post(path, ping), post(path, ping, **{"X-Signature-Ed25519": "ab" * 64})
        finally:
            connections.close_all()
        if (right.status_code, right.content, wrong.status_code) != (200, b'{"type": 1}', 401):
            return Reply(
                400, {"code": 50035, "message": "The specified interactions endpoint url could not be verified."}
            )
        self.application["interactions_endpoint_url"] = address
        return Reply(body=self.application)


def post(path: str, body: bytes, **headers: str) -> HttpResponse:
    """The body, rightly signed; headers in the place of that."""
    timestamp = headers.get("X-Signature-Timestamp") or str(int(clock.now().timestamp()))
    signature = KEY.sign(timestamp.encode() + body).hex()
    signed = {"X-Signature-Timestamp": timestamp, "X-Signature-Ed25519": signature} | headers
    return Client().post(path, body, content_type="application/json", headers=signed)


@dataclass
class Person:
    """Somebody in Discord, and the workspace whose application they use."""

    workspace_id: str
    user: Json = field(default_factory=lambda: dict(GRETL))
    channel: Json = field(default_factory=lambda: {"id": CHANNEL, "type": 0})
    guild_id: str = GUILD

    def writes(self, text: str, *, files: dict[str, str] | None = None, **more: str) -> HttpResponse:
        """With the slash command; `files` are addresses by name."""
        resolved = {
            str(n): {"id": str(n), "filename": name, "url": url} for n, (name, url) in enumerate((files or {}).items())
        }
        options = [{"name": "message", "type": 3, "value": text}]
        options += [{"name": "file", "type": 11, "value": id} for id in resolved]
        data = {"id": "7", "name": "support", "type": 1, "options": options}
        return self._send(2, data | ({"resolved": {"attachments": resolved}} if resolved else {}), **more)

    def presses(self, custom_id: str) -> HttpResponse:
        return self._send(3, {"component_type": 2, "custom_id": custom_id, "id": 2})

    def replies(self, custom_id: str, text: str, **more: str) -> HttpResponse:
        """The form that a press opened, filled in and sent."""
        fields = [
            {"type": 18, "id": 1, "component": {"type": 4, "id": 2, "custom_id": "message", "value": text}},
            {"type": 18, "id": 3, "component": {"type": 19, "id": 4, "custom_id": "file", "values": []}},
        ]
        return self._send(5, {"custom_id": custom_id, "components": fields}, **more)

    def _send(self, kind: int, data: Json, *, id: str = "", token: str = "interaction-token") -> HttpResponse:
        who = {"member": {"user": self.user, "nick": None, "roles": []}} if self.guild_id else {"user": self.user}
        payload = {
            "type": kind, "id": id or str(next(_ids)), "application_id": APPLICATION, "token": token, "version": 1,
            "channel_id": self.channel["id"], "channel": self.channel, "data": data, **who,
        } | ({"guild_id": self.guild_id, "context": 0} if self.guild_id else {"context": 1})  # fmt: skip
        return post(f"/channels/discord/{self.workspace_id}/", json.dumps(payload).encode())


@contextmanager
def discord_server() -> Iterator[Discord]:
    discord = Discord()
    with serving(discord.answer) as discord.url:
        yield discord
