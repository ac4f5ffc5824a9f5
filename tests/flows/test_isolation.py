"""Mallory, of another workspace, tries every address with an id of Fernhill's. The addresses are read from the
resolver: a new one with an id is tried too, or fails here until this module knows what its id names."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from agent.rows import AssistantExchange, ExchangeState
from approvals.models import AlertChannel, AlertLink, AlertPress
from conversations import attachments, saved_replies, threads
from conversations.models import Customer, Item, Lesson
from mail.models import EmailMessage
from median_site.lib import clock, hub, ids
from median_site.lib.db import in_thread
from notifications import browsers
from team import api_keys, invitations
from team.models import Notification, NotificationKind, Teammate
from tests.approvals.requests import request
from tests.notifications.push_service import Keys
from tests.page_socket import PageSocket, signed_in
from tests.world import World
from tools import runs
from tools.models import HttpTool, Starter, ToolVersion
from webhooks import deliveries, subscriptions

# No id of a workspace in them: sign-in, the widget (which asks for a session token), public keys, forms of an export,
# an invitation's link (whoever has it may join), what only Slack or Discord can sign, where mail is handed in,
# the link in a mail to a teammate.
OPEN = re.compile(
    r"accounts/|widget/|w/<slug:slug>/|v1/docs|logs/export|join/|alerts/|channels/"
    r"|settings/notifications/stop/"
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
FIELDS = {"text": "Hi", "reason": "No", "url": "https://elsewhere.example/tools", "on": "1", "number": "1"}
FIELDS |= {"role": "member", "title": "Hello"}
BODIES = {
    "messages": {"text": "Hi", "client_id": "message-1"},
    "notes": {"text": "Hi"},
    "status": {"status": "resolved"},
    "deny": {"reason": "No"},
    "run": {"tool": "orderStatus", "input": {"orderNumber": "ORD-1042"}},
    "risk": {"risk": "low", "content_hash": "x"},
}
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
# As they stand in an address.
ODD = [
    "%00",
    "a%00b",
    "%E2%80%AE",
    "'",
    "%25",
    "%C3%B6" * 40,
    "x" * 2_000,
    "%0D%0AX-Evil:1",
    "%FF%FE",
    "%ED%A0%BD",
    "9" * 30,
]


@dataclass(frozen=True)
class Address:
    """A path of the installation with `<parameters>` in it."""

    route: str
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        return self.route

    def at(self, values: dict[str, str]) -> str:
        return "/" + PARAMETER.sub(lambda found: values[found[1]], self.route)


def addresses(resolver: URLResolver, prefix: str = "") -> Iterator[Address]:
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from addresses(entry, route)
        elif isinstance(entry, URLPattern) and PARAMETER.search(route) and not OPEN.match(route):
            yield Address(route, tuple(PARAMETER.findall(route)))


ADDRESSES = list(addresses(get_resolver()))


@pytest.fixture
def theirs(world: World) -> dict[str, str]:
    """What every parameter of an address may name, at Fernhill."""
    threads.customer_wrote(world.conversation.id, body="A secret wish", client_id="message-1")
    approval = request(world)
    tool = world.tool("orderStatus")
    with transaction.atomic():
        run = runs.queue(threads.lock(world.conversation.id), tool, input_text="{}", started_by=Starter.AGENT)
    draft = HttpTool.objects.create(workspace=world.fernhill, name="stock", definition="{}")
    version = ToolVersion.objects.create(
        workspace=world.fernhill, number=70_707, definitions="[]", published_at=clock.now()
    )
    sent = attachments.store(world.conversation, name="secret.txt", data=b"A secret", by=world.sam.actor)
    threads.note(world.conversation.id, by=world.sam.actor, body="A secret note", files=[sent.id])
    lesson = Lesson.objects.create(
        workspace=world.fernhill, customer=world.ana, conversation=world.conversation, text="Ana has a dog"
    )
    invitation, _ = invitations.make(by=world.sam.actor, email="new@fernhill.example", role="member")
    key, _ = api_keys.make(by=world.sam.actor, name="Deploy script", scopes=["read"])
    webhook, _ = subscriptions.add("http://127.0.0.1:9/hook", by=world.sam.actor)
    delivery = deliveries.test(webhook.id, by=world.sam.actor)
    browser = browsers.add(
        world.kim, address="http://127.0.0.1:9/push", name="Kim's", session_key="none", **Keys().given
    )  # fmt: skip
    session_key = signed_in(world.kim)[1].split("=", 1)[1]
    reply = saved_replies.add(by=world.sam.actor, title="Shipping", wording="It takes 2 to 5 days.")
    session = UserSession.objects.create(pk=80_808, user=world.kim.user, ip="127.0.0.1", session_key=session_key)
    notice = Notification.objects.create(
        pk=60_606, workspace=world.fernhill, teammate=world.kim, kind=NotificationKind.MENTION,
        conversation_id=world.conversation.id,
    )  # fmt: skip
    slack = AlertChannel.objects.create(workspace=world.fernhill, service="slack", channel="C0FERNHILL")
    alerted = {"user_id": "U0KIM", "user_name": "kim"}
    press = AlertPress.objects.create(workspace=world.fernhill, channel=slack, approves=True, **alerted)
    link = AlertLink.objects.create(workspace=world.fernhill, teammate=world.kim, service="slack", **alerted)
    reply_item = Item.objects.create(
        pk=40_404, workspace=world.fernhill, conversation=world.conversation, number=9_000, version=9_000, kind="team",
        text="A secret reply", created_at=clock.now(),
    )  # fmt: skip
    EmailMessage.objects.create(
        workspace=world.fernhill, conversation=world.conversation, item=reply_item, direction="out", state="failed"
    )
    exchange = AssistantExchange.objects.create(
        pk=50_505, workspace=world.fernhill, teammate=world.kim, question="A secret question", asked_at=clock.now(),
        changed_at=clock.now(), due_at=clock.now(), state=ExchangeState.FAILED,
    )  # fmt: skip
    return {
        "code": press.id,
        "link_id": link.id,
        "item_id": str(reply_item.pk),
        "exchange_id": str(exchange.pk),
        "conversation_id": world.conversation.id,
        "approval_id": approval.id,
        "run_id": run.id,
        "endpoint_id": world.endpoint.id,
        "tool_name": tool.name,
        "name": tool.name,
        "draft_id": draft.id,
        "number": str(version.number),
        "customer_id": world.ana.id,
        "lesson_id": lesson.id,
        "attachment_id": sent.id,
        "file_name": sent.name,
        "teammate_id": world.kim.id,
        "invitation_id": invitation.id,
        "key_id": key.id,
        "session_id": str(session.pk),
        "webhook_id": webhook.id,
        "delivery_id": delivery.id,
        "notice_id": str(notice.pk),
        "browser_id": browser.id,
        "reply_id": reply.id,
    }


@dataclass
class Stranger:
    """Mallory's browser, and a program with a key of Mallory's workspace."""

    browser: Client
    key: str
    teammate_id: str

    def ask(self, method: str, path: str, *, htmx: bool) -> HttpResponse:
        """The answer to a request that has everything but the right to be answered."""
        if path.endswith("/attachments") and method == "POST":
            headers = {"Authorization": f"Bearer {self.key}", "X-Median-As": self.teammate_id}
            browser = Client(headers=headers) if path.startswith("/v1/") else self.browser
            return browser.post(path, {"file": SimpleUploadedFile("a.txt", b"x")}, headers=headers)
        if path.startswith("/v1/"):
            body = json.dumps(BODIES.get(path.rsplit("/", 1)[1], {} if method == "POST" else {"url": FIELDS["url"]}))
            headers = {"Authorization": f"Bearer {self.key}"}
            return Client().generic(method, path, body, content_type="application/json", headers=headers)
        headers = {"X-Median-As": self.teammate_id} | ({"HX-Request": "true"} if htmx else {})
        body = urlencode(FIELDS) if method == "POST" else ""
        return self.browser.generic(
            method, path, body, content_type="application/x-www-form-urlencoded", headers=headers
        )


@pytest.fixture
def mallory(world: World) -> Stranger:
    browser = Client()
    browser.force_login(world.mallory.user)
    _, key = api_keys.create(world.elsewhere, name="Mallory's", scopes=api_keys.SCOPES)
    return Stranger(browser, key, world.mallory.id)


def everything(world: World) -> dict[str, list[Any]]:
    """Every row of Fernhill's, the log among them."""
    kept = {}
    for model in apps.get_models():
        rows: Any = model._default_manager
        if any(field.name == "workspace" for field in model._meta.fields):
            kept[model._meta.label] = list(rows.filter(workspace=world.fernhill).order_by("pk").values())
    return kept


def absent(values: dict[str, str]) -> dict[str, str]:
    """Names of the same form that name nothing anywhere."""
    made = {name: ids.new_id() for name in values}
    return made | {
        "approval_id": ids.call_id(),
        "run_id": ids.call_id(),
        "tool_name": "noSuchTool",
        "name": "noSuchTool",
        "number": "90909",
        "session_id": "90909",
        "notice_id": "90909",
        "item_id": "90909",
        "exchange_id": "90909",
    }


def customer_of(teammate: Teammate) -> Customer:
    return Customer.objects.create(workspace=teammate.workspace, subject="visitor_1", name="Bob")


def seen(answer: HttpResponse, values: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
    """All that tells one answer from another, but for the names that were asked for."""
    body = answer.content
    counted = ("RateLimit-", "Content-Length")
    headers = {name: value for name, value in answer.headers.items() if not name.startswith(counted)}
    for name, value in values.items():
        body = body.replace(value.encode(), name.encode())
        headers = {key: shown.replace(value, name) for key, shown in headers.items()}
    return answer.status_code, body, headers


def test_the_addresses_are_read() -> None:
    known = {address.route for address in ADDRESSES}
    assert known >= {"inbox/<str:conversation_id>/", "approvals/<str:approval_id>/approve"}


@pytest.mark.parametrize("address", ADDRESSES, ids=str)
def test_what_is_fernhills_is_as_if_it_were_not_there(
    address: Address, world: World, theirs: dict[str, str], mallory: Stranger
) -> None:
    nowhere = absent(theirs)
    before = everything(world)
    statuses = set()
    for method in METHODS:
        for htmx in (False, True):
            foreign = mallory.ask(method, address.at(theirs), htmx=htmx)
            missing = mallory.ask(method, address.at(nowhere), htmx=htmx)
            assert seen(foreign, theirs) == seen(missing, nowhere)
            assert foreign.status_code in {404, 405}, (method, foreign.content)
            statuses.add(foreign.status_code)
    assert 404 in statuses
    assert everything(world) == before


@pytest.mark.parametrize("address", ADDRESSES, ids=str)
def test_an_odd_id_names_nothing(address: Address, world: World, mallory: Stranger) -> None:
    for odd in ODD:
        path = address.at(dict.fromkeys(address.parameters, odd))
        for method in ("GET", "POST"):
            # The API says of what is no number that it is none.
            assert mallory.ask(method, path, htmx=False).status_code in {404, 405, 422}, (method, odd)


@pytest.mark.django_db(transaction=True)
async def test_a_socket_gives_nothing_of_another_workspace_away(world: World) -> None:
    _, cookie = await in_thread(signed_in, world.mallory)
    page = await PageSocket("/live/", cookie=cookie).open()
    ignored = hub.current().ignored
    for conversation_id in (world.conversation.id, ids.new_id()):
        await page.say({"watch": "thread", "id": conversation_id, "since": 0})
    await page.say({"watch": "queue", "since": 0})
    await in_thread(threads.note, world.conversation.id, by=world.sam.actor, body="A secret note")

    mine = await in_thread(threads.start, await in_thread(customer_of, world.mallory))
    await in_thread(threads.note, mine.id, by=world.mallory.actor, body="Mine")

    frame = await page.hear()
    assert (frame["kind"], frame["id"]) == ("row", mine.id)
    assert hub.current().ignored == ignored + 2
    await page.leave()
