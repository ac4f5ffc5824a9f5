"""What outsiders write is text wherever it is shown: it runs nothing, and no browser asks another host for anything."""

import json
from dataclasses import replace
from email.utils import formataddr
from urllib.parse import urlsplit

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from approvals import decisions
from conversations import lessons, threads
from conversations.models import Channel, Conversation, Customer
from mail import channels
from team.models import Teammate, Workspace
from tests.approvals.requests import answer, request
from tests.browser.conftest import OpenWindow
from tests.mail.letters import ADDRESS, letter
from tests.web_process import WebProcess
from tests.world import World, session_token
from tools import runs

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = '"><img src=x onerror=alert(1)><svg/onload=alert(1)> {{7*7}} {% debug %} ${7*7} javascript:alert(1)'
LEAK = """Look ![x](https://evil.example/p.png?d=1) <img src="https://evil.example/i.png"> ![y][e]
<div style="background:url(https://evil.example/c.png)" hx-get="/" hx-trigger="load">z</div></pre><!--

[e]: https://evil.example/r.png
"""
LIVE = "img[src*=evil], [onerror], [onload], [hx-trigger=load]:not([hx-get^='/inbox/'], [hx-get^='/approvals/'])"


class Guard:
    """Notes what a page asks other hosts for, and every dialog that it opens."""

    def __init__(self, page: Page, *, url: str) -> None:
        self.page, self._host = page, urlsplit(url).netloc
        self.seen: list[str] = []
        page.on("request", lambda asked: self._look(asked.url))
        page.on("dialog", lambda opened: (self.seen.append(opened.message), opened.dismiss()))

    def _look(self, url: str) -> None:
        if urlsplit(url).scheme != "data" and urlsplit(url).netloc != self._host:
            self.seen.append(url)

    def visit(self, path: str, *, shows: str = "onerror=alert(1)") -> None:
        """A page on which that text can be read, and nothing of it is alive."""
        self.page.goto(path)
        expect(self.page.get_by_text(shows).filter(visible=True).first).to_be_visible()
        self.judge()

    def judge(self) -> None:
        expect(self.page.locator(LIVE)).to_have_count(0)
        assert self.seen == []


def by_mail(world: World) -> Conversation:
    """A thread that came as a mail, whose sender thought of everything."""
    channel = channels.save(by=world.sam.actor, address=ADDRESS, name="Fernhill", signs_replies=True)
    mail = letter(f"{EVIL}\n\n{LEAK}", From=formataddr((EVIL, "eve@evil.example")), Subject=EVIL)
    raw = mail.as_bytes(policy=mail.policy.clone(max_line_length=None))  # folding would break the name
    door = f"/channels/email/{channels.token_of(channel)}"
    answered = Client().post(door, raw, content_type="message/rfc822")
    assert answered.status_code == 204
    return Conversation.objects.get(channel=Channel.EMAIL)


def with_tools(world: World, conversation: Conversation) -> None:
    """Requests whose inputs and results were written for it, too, and what it taught."""
    there = replace(world, conversation=conversation)
    request(there, tool="refundOrder", input_text=_json(orderNumber=EVIL + LEAK, reason="damaged"))
    ran = request(there, tool="extendTrial", input_text="{}")
    decisions.approve(ran.id, by=world.sam.actor)
    answer(ran, _json(status=EVIL, note=LEAK))
    runs.write_up(ran.id)
    lessons.keep(conversation, [f"{EVIL} {LEAK}"])


def _json(**values: str) -> str:
    return json.dumps(values, separators=(",", ":"))


@pytest.fixture
def hostile(world: World) -> World:
    Workspace.objects.filter(id=world.fernhill.id).update(name=EVIL, agent_name=EVIL[:60])
    Teammate.objects.filter(id=world.kim.id).update(name=EVIL)
    Customer.objects.filter(id=world.ana.id).update(
        name=EVIL, email="", page={"title": EVIL, "url": "javascript:alert(1)"}
    )
    for each in (world.fernhill, world.kim, world.ana):
        each.refresh_from_db()
    return world


def test_nothing_of_it_is_alive(hostile: World, web: WebProcess, open_window: OpenWindow) -> None:
    world, mail = hostile, by_mail(hostile)
    with_tools(world, mail)
    threads.customer_wrote(world.conversation.id, body=EVIL, client_id="1")
    threads.reply(world.conversation.id, by=world.kim.actor, body=LEAK)
    guard = Guard(open_window(web.url, world.sam), url=web.url)
    page = guard.page
    for path in ("/", "/inbox/?q=alert", "/approvals/", "/settings/people/", f"/customers/{mail.customer_id}/"):
        guard.visit(path)
    guard.visit(f"/inbox/{world.conversation.id}/")

    guard.visit(f"/inbox/{mail.id}/")
    page.locator("details.raw summary").first.click()
    expect(page.locator("details.raw pre").first).to_contain_text("https://evil.example/c.png")
    threads.customer_wrote(mail.id, body=f"{EVIL} again {LEAK}", client_id="2")  # and once more, by a push
    expect(page.locator(".msg--customer").last).to_contain_text("again Look")
    expect(page.locator(".msg--customer").last.get_by_role("link").first).to_have_attribute(
        "href", "https://evil.example/p.png?d=1"
    )
    guard.judge()

    widget = Guard(open_window(web.url), url=web.url)
    widget.visit(f"/widget/fernhill/#token={session_token(world.ana)}")
    threads.reply(world.conversation.id, by=world.kim.actor, body=f"{EVIL} again {LEAK}")
    expect(widget.page.locator(".w-msg").last).to_contain_text("again Look")
    widget.judge()
