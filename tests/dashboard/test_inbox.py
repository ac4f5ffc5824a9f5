"""The inbox over HTTP: what the queue and a thread show, at what cost, and what a teammate's presses do."""

import json
import re
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from conversations import threads
from conversations.models import Channel, Conversation, Customer, Handler, Item, ItemKind, ReadMark, Status
from median_site.dashboard import queue, thread
from median_site.lib import clock
from team.models import Event, Teammate
from tests.approvals.requests import request
from tests.dashboard.threads_at_hand import many, write
from tests.world import World

SignIn = Callable[[Teammate], Client]
HTMX = {"HX-Request": "true"}


def rows(page: str) -> list[str]:
    return re.findall(r'<li id="row-(\w+)"', page)


def test_the_front_door_leads_to_the_inbox_and_strangers_to_sign_in(world: World) -> None:
    assert Client().get("/").headers["Location"] == "/inbox/"
    assert Client().get("/inbox/").headers["Location"] == "/accounts/login/?next=/inbox/"


def test_the_queue_shows_who_wrote_what_when_who_has_it_and_its_mark(world: World, browser_of: SignIn) -> None:
    write(world)
    request(world)

    page = browser_of(world.sam).get("/inbox/").content.decode()

    (row,) = re.findall(r"<li id=.row-.*?</li>", page, re.S)
    for expected in [
        '<bdi>Ana Souza</bdi><span class="sr">, unread</span>',
        'role="img" aria-label="Widget"',
        "Is my order coming?",
        'aria-label="Median AI has this thread"',
        "<span>Needs approval: <bdi>Refund order</bdi></span>",
        " data-unread",
    ]:
        assert expected in row
    assert re.search(r"<time [^>]*>\d\d:\d\d</time>", row)
    count = f'data-counted="{world.conversation.id}"><span>1</span><span class="sr"> unread</span></span>'
    assert count in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"agent", "sam", "waiting"}),
        ("?f=mine", {"sam"}),
        ("?f=approval", {"waiting"}),
        ("?f=agent", {"agent", "waiting"}),
        ("?f=unassigned", set()),
        ("?unread=1", {"sam"}),
        ("?status=resolved", {"resolved"}),
        ("?f=nonsense&status=nonsense", {"agent", "sam", "waiting"}),
    ],
)
def test_filters(query: str, expected: set[str], world: World, browser_of: SignIn) -> None:
    world.conversation.delete()
    names = dict(zip(["agent", "sam", "waiting", "resolved"], many(world, 4), strict=True))
    rows_of = {name: Conversation.objects.filter(id=row.id) for name, row in names.items()}
    rows_of["sam"].update(handler=Handler.TEAMMATE, assignee=world.sam, attention=3, version=3)
    rows_of["waiting"].update(waiting=1, mark="waiting", mark_label="Refund order")
    rows_of["resolved"].update(status=Status.RESOLVED)
    Conversation.objects.create(
        workspace=world.elsewhere,
        customer=Customer.objects.create(workspace=world.elsewhere, subject="x"),
        last_at=clock.now(),
    )

    page = browser_of(world.sam).get(f"/inbox/{query}").content.decode()

    assert {name for name, row in names.items() if row.id in rows(page)} == expected
    assert len(rows(page)) == len(expected)


def test_pages_of_the_queue_follow_each_other_without_gap_or_repeat(world: World, browser_of: SignIn) -> None:
    world.conversation.delete()
    same_moment = clock.now()
    made = many(world, queue.PAGE + 5, last_at=same_moment)
    Conversation.objects.update(last_at=same_moment)
    browser, seen, path = browser_of(world.sam), [], "/inbox/"
    while path:
        page = browser.get(path).content.decode()
        seen += rows(page)
        older = re.search(r'class="queue-older" href="([^"]+)"', page)
        path = older[1].replace("&amp;", "&") if older else ""

    assert len(seen) == queue.PAGE + 5
    assert set(seen) == {row.id for row in made}


def test_an_empty_queue_says_what_is_so(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    Conversation.objects.update(status=Status.RESOLVED)

    assert "Nothing is waiting" in sam.get("/inbox/").content.decode()
    assert "No threads match" in sam.get("/inbox/?f=mine").content.decode()

    world.conversation.delete()

    assert "No thread yet" in sam.get("/inbox/").content.decode()


def test_the_cost_of_a_page_does_not_grow_with_what_is_on_it(world: World, browser_of: SignIn) -> None:
    many(world, 40)
    for number in range(30):
        write(world, client_id=f"m{number}")
    threads.note(world.conversation.id, by=world.sam.actor, body="A note.")
    for tool in ["refundOrder", "cancelSubscription", "extendTrial"]:
        request(world, tool=tool, input_text="{}")
    browser = browser_of(world.sam)

    with CaptureQueriesContext(connection) as list_queries:
        browser.get("/inbox/")
    with CaptureQueriesContext(connection) as thread_queries:
        browser.get(f"/inbox/{world.conversation.id}/")

    assert len(list_queries) == 4
    assert len(thread_queries) == 9


def test_a_thread_shows_messages_notes_and_lines_by_who_wrote_them(world: World, browser_of: SignIn) -> None:
    write(world, "Hello **there**")
    threads.note(world.conversation.id, by=world.kim.actor, body="Third one this week.")
    threads.reply(world.conversation.id, by=world.sam.actor, body="It comes tomorrow.")

    page = browser_of(world.sam).get(f"/inbox/{world.conversation.id}/").content.decode()

    assert '<article class="msg msg--customer" id="item-1" data-number="1"' in page
    assert "<p>Hello <strong>there</strong></p>" in page
    assert '<article class="msg msg--note"' in page
    assert '<span class="hush">left a note</span>' in page
    assert '<article class="msg msg--team"' in page
    assert re.search(r'<p class="line".*?<span>Sam took the thread over from Median AI <time', page)
    assert page.count('<p class="rule"') == 1
    assert "Verified by your server" in page


def test_earlier_messages_come_in_pieces_without_gap_or_repeat(world: World, browser_of: SignIn) -> None:
    with transaction.atomic():
        conversation = threads.lock(world.conversation.id)
        for number in range(thread.PAGE * 2 + 5):
            threads.add(conversation, kind=ItemKind.CUSTOMER, body=f"m{number}", by=world.ana.actor, ref=str(number))
    browser, seen, path = browser_of(world.sam), [], f"/inbox/{world.conversation.id}/"
    while path:
        page = browser.get(path, headers=HTMX if "before" in path else {}).content.decode()
        assert ("<html" in page) == ("before" not in path)
        seen = [int(number) for number in re.findall(r'id="item-(\d+)"', page)] + seen
        earlier = re.search(r'hx-get="([^"]+\?before=\d+)"', page)
        path = earlier[1] if earlier else ""

    assert seen == list(range(1, thread.PAGE * 2 + 6))
    around = {"item-50": seen[24:74], "item-90": seen[-50:], f"item-{'9' * 18}": seen[-50:], "call_x\0": seen[-50:]}
    for at, shown in around.items():
        page = browser.get(f"/inbox/{world.conversation.id}/", {"at": at}).content.decode()
        assert [int(number) for number in re.findall(r'id="item-(\d+)"', page)] == shown
        assert ("data-watch-thread" in page, "?at=item-74#item-74" in page) == (shown[-1] > 74, shown[-1] == 74)


def test_opening_a_thread_changes_nothing_and_reading_is_a_post(world: World, browser_of: SignIn) -> None:
    write(world)
    request(world)
    browser, events = browser_of(world.sam), Event.objects.count()

    browser.get(f"/inbox/{world.conversation.id}/")
    assert ReadMark.objects.count() == 0
    answer = browser.post(f"/inbox/{world.conversation.id}/read", {"number": "3"}, headers=HTMX)

    assert answer.status_code == 204
    assert [(mark.teammate_id, mark.number) for mark in ReadMark.objects.all()] == [(world.sam.id, 3)]
    assert " data-unread" not in browser.get("/inbox/").content.decode()
    assert " data-unread" in browser_of(world.kim).get("/inbox/").content.decode()
    assert Event.objects.count() == events


def test_a_reply_takes_the_thread_and_a_note_does_not(world: World, browser_of: SignIn) -> None:
    browser, path = browser_of(world.sam), f"/inbox/{world.conversation.id}/write"

    assert browser.post(path, {"mode": "note", "text": "For us."}, headers=HTMX).status_code == 204
    world.conversation.refresh_from_db()
    assert world.conversation.handler == Handler.AGENT
    assert browser.post(path, {"mode": "reply", "text": "Hello Ana"}).headers["Location"] == path.removesuffix("write")

    world.conversation.refresh_from_db()
    assert (world.conversation.handler, world.conversation.assignee_id) == (Handler.TEAMMATE, world.sam.id)
    assert list(Item.objects.order_by("number").values_list("kind", "text")) == [
        ("note", "For us."), ("line", "Sam took the thread over from Median AI"), ("team", "Hello Ana"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [("  ", "Write something first."), ("x" * 8_001, "A message has at most 8,000 characters.")],
)
def test_what_cannot_be_sent_says_why(text: str, message: str, world: World, browser_of: SignIn) -> None:
    answer = browser_of(world.sam).post(f"/inbox/{world.conversation.id}/write", {"text": text}, headers=HTMX)

    assert answer.status_code == 422
    assert json.loads(answer.headers["HX-Trigger"])["toast"]["message"] == message
    assert Item.objects.count() == 0


@pytest.mark.parametrize(
    ("verb", "status", "handler"),
    [
        ("take-over", Status.OPEN, Handler.TEAMMATE),
        ("resolve", Status.RESOLVED, Handler.AGENT),
        ("close", Status.CLOSED, Handler.AGENT),
        ("archive", Status.ARCHIVED, Handler.AGENT),
    ],
)
def test_presses_on_a_thread(verb: str, status: str, handler: str, world: World, browser_of: SignIn) -> None:
    browser, path = browser_of(world.sam), f"/inbox/{world.conversation.id}/{verb}"

    assert browser.get(path).status_code == 405
    assert browser.post(path, headers=HTMX).status_code == 204
    assert browser.post(path, headers=HTMX).status_code == 204

    world.conversation.refresh_from_db()
    assert (world.conversation.status, world.conversation.handler) == (status, handler)
    assert Item.objects.filter(kind=ItemKind.LINE).count() == 1


def test_a_thread_goes_back_to_the_agent_and_opens_again(world: World, browser_of: SignIn) -> None:
    browser, path = browser_of(world.sam), f"/inbox/{world.conversation.id}/"
    for verb in ["take-over", "hand-back", "resolve", "reopen"]:
        assert browser.post(f"{path}{verb}").headers["Location"] == path

    world.conversation.refresh_from_db()
    assert (world.conversation.status, world.conversation.handler) == (Status.OPEN, Handler.AGENT)


@pytest.mark.parametrize(
    "verb", ["write", "read", "take-over", "hand-back", "resolve", "close", "archive", "reopen", ""]
)
def test_somebody_of_another_workspace_finds_nothing(verb: str, world: World, browser_of: SignIn) -> None:
    browser, path = browser_of(world.mallory), f"/inbox/{world.conversation.id}/{verb}"

    answer = browser.post(path, {"text": "x", "number": "1"}) if verb else browser.get(path)

    assert answer.status_code == 404
    assert (Item.objects.count(), ReadMark.objects.count()) == (0, 0)
    world.conversation.refresh_from_db()
    assert (world.conversation.status, world.conversation.version) == (Status.OPEN, 0)


def test_a_page_made_for_somebody_else_does_nothing(world: World, browser_of: SignIn) -> None:
    other = HTMX | {"X-Median-As": world.sam.id}

    answer = browser_of(world.kim).post(f"/inbox/{world.conversation.id}/write", {"text": "Hi"}, headers=other)

    assert answer.status_code == 409
    assert Item.objects.count() == 0


def test_a_name_from_right_to_left_stands_apart_from_the_words_around_it(world: World, browser_of: SignIn) -> None:
    Teammate.objects.filter(id=world.kim.id).update(name="כהן דוד")
    world.kim.refresh_from_db()
    threads.take_over(world.conversation.id, by=world.kim.actor)
    browser = browser_of(world.sam)
    page = browser.get(f"/inbox/{world.conversation.id}/").text
    assert (
        page.count(
            '<span class="by-name"><bdi>כהן</bdi> has</span><span class="by-you">You have</span></span> this thread'
        )
        == 2
    )
    assert '<span class="log-text">כהן took the thread over from Median AI</span>' in browser.get("/logs/").text


def test_the_bar_above_the_composer_has_buttons_only_for_an_input_that_fits(world: World, browser_of: SignIn) -> None:
    browser, path = browser_of(world.sam), f"/inbox/{world.conversation.id}/"
    assert (
        '<div class="ask" id="thread-ask" data-version="0" data-refresh hidden>' in browser.get(path).content.decode()
    )

    request(world)
    fits = bar(browser.get(path).content.decode())
    threads.take_over(world.conversation.id, by=world.sam.actor)
    taken = bar(browser.get(path).content.decode())
    threads.hand_back(world.conversation.id, by=world.sam.actor)
    world.conversation.approvals.update(input='{"note":"two\\nlines"}')
    misleads = bar(browser.get(path).content.decode())

    assert "Median AI needs approval to run <b>Refund order</b>" in fits
    assert '<code class="val">ORD-1042, damaged</code>' in fits
    assert "data-approve" in fits
    assert "hidden" in taken
    assert "Show request" in misleads
    assert "data-approve" not in misleads


def bar(page: str) -> str:
    found = re.search(r'<div class="ask".*?\n</div>', page, re.S)
    assert found
    return found[0]


def test_a_visitors_markup_is_text_everywhere(world: World, browser_of: SignIn) -> None:
    evil = '"><img src=x onerror=alert(1)> {{7*7}} {% debug %} ${7*7}'
    Customer.objects.update(name=evil, email=evil, verified=False, page={evil: evil})
    Conversation.objects.update(claims={evil: evil}, channel=Channel.EMAIL)
    write(world, evil)
    threads.note(world.conversation.id, by=world.sam.actor, body=evil)

    page = browser_of(world.sam).get(f"/inbox/{world.conversation.id}/").content.decode()

    assert "<img src" not in page
    assert "{{7*7}}" in page
    assert "<bdi>&#34;&gt;&lt;img src=x onerror=alert(1)&gt; {{7*7}}" in page


def test_the_theme_is_kept_with_the_account(world: World, browser_of: SignIn) -> None:
    browser = browser_of(world.sam)

    wanted = ["https://evil.example/", "//evil.example/", "a:b", "\0", "", "/agent/"]
    came = [browser.post("/me/theme", {"theme": "dark", "next": each}).headers["Location"] for each in wanted]

    assert came == ["/inbox/"] * 5 + ["/agent/"]
    assert '<html lang="en" data-theme="dark">' in browser.get("/inbox/").content.decode()
    browser.post("/me/theme", {"theme": "neon"})
    assert '<html lang="en">' in browser.get("/inbox/").content.decode()


def test_pages_hold_no_inline_script_style_or_handler(world: World, browser_of: SignIn) -> None:
    write(world)
    request(world)

    page = browser_of(world.sam).get(f"/inbox/{world.conversation.id}/").content.decode()

    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", page)


def test_raw_output_is_text_and_only_for_the_workspace(world: World, browser_of: SignIn) -> None:
    run = world.fernhill.runs.create(
        id="call_raw", endpoint_id="e", tool_name="t", tool_label="T", risk="low", input="{}", started_by="teammate",
        state="completed", queued_at=clock.now(), raw="<script>alert(1)</script>",
    )  # fmt: skip
    path = f"/inbox/raw/{run.id}"

    plain = browser_of(world.sam).get(path)
    piece = browser_of(world.sam).get(path, headers=HTMX).content.decode()

    assert (plain.headers["Content-Type"], plain.content) == ("text/plain; charset=utf-8", run.raw.encode())
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in piece
    assert browser_of(world.mallory).get(path).status_code == 404
