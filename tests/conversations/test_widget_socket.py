"""The customer's socket through its door: a token opens it, and it shows their own conversation, but no notes."""

from datetime import timedelta

import jwt
import pytest

from conversations import threads
from conversations.channels import widget_consumer
from conversations.models import Channel
from median_site.lib import clock
from median_site.lib import hub as hubs
from median_site.lib.db import in_thread
from team.models import Workspace
from tests.page_socket import Closed, PageSocket
from tests.world import World
from tools import keys, session_tokens

pytestmark = pytest.mark.django_db(transaction=True)


def token_of(workspace: Workspace, subject: str = "user_123", *, lifetime: timedelta = timedelta(minutes=30)) -> str:
    said = {"anonymous": False, "claims": {"groups": "x" * 5_500}, "email": "ana@example.com", "name": "Ana Souza"}
    now = clock.now() - timedelta(hours=1) if lifetime < timedelta() else clock.now()
    seconds = int(abs(lifetime).total_seconds())
    key = keys.current(workspace.id)
    return session_tokens.mint(key, issuer=workspace.issuer, subject=subject, now=now, lifetime_s=seconds, **said)


async def opened(token: object, *, since: object = 0) -> PageSocket:
    page = await PageSocket("/widget/live/").open()
    await page.say({"token": token, "since": since})
    return page


async def test_ana_sees_replies_as_they_come_and_no_notes(world: World) -> None:
    page = await opened(await in_thread(token_of, world.fernhill))
    await in_thread(threads.note, world.conversation.id, by=world.sam.actor, body="A secret between us")
    reply = await in_thread(threads.reply, world.conversation.id, by=world.sam.actor, body="On its way, Ana")

    items = {}  # A push of the note may have the reply already, and the reply's own push has it again.
    version = 0
    while version < reply.version:
        frame = await page.hear()
        version = frame["version"]
        items |= {item["id"]: item["html"] for item in frame["items"]}

    html = "".join(items.values())
    assert html.count("On its way, Ana") == 1
    assert "secret" not in html
    await page.leave()


async def test_nobody_sees_the_conversation_of_another(world: World) -> None:
    page = await opened(await in_thread(token_of, world.fernhill, "user_456"))
    theirs = await in_thread(
        threads.from_customer, await in_thread(customer, world, "user_456"), channel=Channel.WIDGET, body="Mine",
        client_id="1",
    )  # fmt: skip
    await in_thread(threads.reply, world.conversation.id, by=world.sam.actor, body="For Ana alone")
    frame = await page.hear()
    if frame["kind"] == "conversation":  # it had joined before there was one, and asks for it
        assert frame == {"kind": "conversation", "id": theirs.conversation_id}
        await page.say({"token": await in_thread(token_of, world.fernhill, "user_456"), "since": 0})
        frame = await page.hear()

    assert ["Mine" in item["html"] for item in frame["items"]] == [True]
    assert {id for _, _, id in hubs.current()._topics} == {theirs.conversation_id, "verified:user_456"}
    await page.leave()


def customer(world: World, subject: str):
    return world.fernhill.customers.create(subject=subject, verified=True)


async def test_a_token_that_is_not_good_is_refused(world: World) -> None:
    expired = await in_thread(token_of, world.fernhill, lifetime=timedelta(minutes=-30))
    unstorable = (jwt.encode({"iss": f"a/{issuer}"}, "x" * 32) for issuer in ("\0", "\ud800"))
    for token in ("", "made.up.token", None, 7, {"a": "token"}, expired, "\ud800.a.b", *unstorable):
        page = await opened(token)
        with pytest.raises(Closed, match="4403"):
            await page.hear()
    assert not hubs.current()._sockets


async def test_another_person_cannot_go_on_in_an_open_socket(world: World) -> None:
    page = await opened(await in_thread(token_of, world.fernhill))
    await page.say({"token": await in_thread(token_of, world.fernhill, "user_456"), "since": 0})
    with pytest.raises(Closed, match="4403"):
        await page.hear()


async def test_who_never_says_who_they_are_is_let_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widget_consumer, "PATIENCE", 0.01)
    page = await PageSocket("/widget/live/").open()
    with pytest.raises(Closed, match="4403"):
        await page.hear()


async def test_a_foreign_page_cannot_open_it(world: World) -> None:
    for origin in (None, "null", "https://shop.example"):
        with pytest.raises(Closed, match="4403"):
            await PageSocket("/widget/live/", origin=origin).open()
