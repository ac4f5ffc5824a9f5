"""Searching the queue: what is found by which words, how it is marked, and that no text takes long."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from conversations import threads
from conversations.models import Conversation, Customer, Status
from median_site.dashboard import queue, search
from median_site.dashboard.queue import Filter
from median_site.dashboard.search import Search
from median_site.lib import clock
from team.models import Teammate
from tests.approvals.requests import request
from tests.dashboard.threads_at_hand import many, write
from tests.world import World
from tools import runs
from tools.models import Starter, ToolRun

SignIn = Callable[[Teammate], Client]


def found(browser: Client, typed: str, **more: str) -> list[str]:
    page = browser.get("/inbox/", {"q": typed} | more).content.decode()
    return re.findall(r'<li id="row-(\w+)"', page)


def pages_of(browser: Client, path: str) -> Iterator[tuple[list[str], str]]:
    """The ids of the rows on each page of a list, and the page."""
    while path:
        page = browser.get(path).content.decode()
        yield re.findall(r'<li id="row-(\w+)"', page), page
        older = re.search(r'class="queue-older" href="([^"]+)"', page)
        path = older[1].replace("&amp;", "&") if older else ""


@pytest.mark.parametrize(
    ("typed", "is_found"),
    [
        ("refund", True),
        ("REFUND", True),
        ("ref", True),
        ("fund", False),
        ("refund please", True),
        ("please refund", True),
        ("refund tomorrow", False),
        ("ORD-1042", True),
        ("ord-1042", True),
        ("1042", True),
        ("104", True),
        ("ORD-1043", False),
        ("ORD 42", False),
        ("größe", True),
        ("shop.example", True),
        ("Ana", True),
        ("souza", True),
        ("ouz", True),
        ("an", True),
        ("na", False),
        ("ana@example.com", True),
        ("user_123", True),
        ("ana souza", True),
        ("???", False),
        ("' & | ! :* <-> \\", False),
        ("%", False),
        ("a\0b", False),
        ("ana refund", True),
        ("REFUND ana 1042", True),
        ("bob refund", False),
        ("ana tomorrow", False),
    ],
)
def test_words_find_messages_customers_and_orders(typed: str, is_found: bool, world: World, browser_of: SignIn) -> None:
    many(world, 2)
    write(world, "A refund for ORD-1042 please, the Größe is wrong: https://shop.example/o?id=7")

    assert found(browser_of(world.sam), typed) == ([world.conversation.id] if is_found else [])


def test_notes_are_found_and_lines_are_not(world: World, browser_of: SignIn) -> None:
    threads.note(world.conversation.id, by=world.sam.actor, body="Third parcel this week")
    threads.take_over(world.conversation.id, by=world.sam.actor)
    browser = browser_of(world.sam)

    assert found(browser, "parcel") == [world.conversation.id]
    assert found(browser, "took") == []


@pytest.mark.parametrize(
    ("typed", "is_found"),
    [
        ("ORD-2077", True),
        ("2077", True),
        ("ana 2077", True),
        ("hello ORD-2077", True),
        ("bob 2077", False),
        ("ORD-2077 ORD-9", False),
        ("INV-31", True),
        ("orderNumber", False),
        ("damaged", False),
    ],
)
def test_orders_are_found_in_what_tools_were_called_with(
    typed: str, is_found: bool, world: World, browser_of: SignIn
) -> None:
    many(world, 2)
    write(world, "Hello")
    request(world, input_text='{"orderNumber":"ORD-2077","reason":"damaged"}')
    with transaction.atomic():
        run(world, '{"orderNumber":"INV-31"}')

    assert found(browser_of(world.sam), typed) == ([world.conversation.id] if is_found else [])
    assert found(browser_of(world.mallory), typed) == []


def test_a_row_shows_the_call_that_has_the_order(world: World, browser_of: SignIn) -> None:
    call = request(world, input_text='{"orderNumber":"ORD-2077","reason":"damaged"}').id

    page = browser_of(world.sam).get("/inbox/?q=2077").content.decode()

    assert "Refund order: ORD-<mark>2077</mark>, damaged</span>" in page
    assert f'href="/inbox/{world.conversation.id}/?at={call}#{call}"' in page


def test_a_row_shows_the_message_with_one_of_the_words_where_none_has_all(world: World, browser_of: SignIn) -> None:
    write(world, "The parcel came back", client_id="1")
    write(world, "Later", client_id="2")

    page = browser_of(world.sam).get("/inbox/?q=souza+parcel").content.decode()

    assert "The <mark>parcel</mark> came back</span>" in page
    assert re.search(r'href="/inbox/\w+/\?at=(item-\d+)#\1"', page)


def run(world: World, text: str) -> None:
    conversation, tool = threads.lock(world.conversation.id), world.tool("orderStatus")
    runs.queue(conversation, tool, input_text=text, started_by=Starter.AGENT)


@pytest.mark.parametrize("typed", ["zebra", "ana zebra", "ORD-2077", "ana 2077", "zebra 2077"])
def test_what_is_rare_is_found_beyond_the_newest(typed: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "NEAR", 3)
    write(world, "A zebra")
    request(world, input_text='{"orderNumber":"ORD-2077","reason":"damaged"}')
    many(world, 5)

    page = queue.page(world.sam, by=Filter(q=typed, status="any"))

    assert [row.id for row, _ in page.rows] == [world.conversation.id]
    assert page.looked_to is None


def test_what_is_neither_common_nor_rare_fills_the_page_from_more_of_the_newest(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEAR", 50)
    made = many(world, 320)
    write(world, "A zebra")
    half = [row for row in made if int(row.customer.subject.split("-")[1]) % 2]
    Customer.objects.filter(conversations__in=half).update(email="zebra@word.example")

    with CaptureQueriesContext(connection) as statements:
        page = queue.page(world.sam, by=Filter(q="other zebra", status="any"))

    assert [row.id for row, _ in page.rows] == [row.id for row in half[: queue.PAGE]]
    assert len([each for each in statements if "statement_timeout" in each["sql"]]) == 0


def test_of_several_words_the_rarest_is_looked_up_so_many_threads_at_a_time(
    world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEAR", 2)
    monkeypatch.setattr(search, "MIXED", 3)
    made = many(world, 14)
    for row in made[3:]:
        threads.note(row.id, by=world.sam.actor, body="A zebra was in it")
    for row in (made[4], made[7], made[13]):
        threads.note(row.id, by=world.sam.actor, body="The parcel came")
    threads.note(made[9].id, by=world.sam.actor, body="No parcel, no zebra")
    threads.note(made[2].id, by=world.sam.actor, body="Where is the parcel?")
    browser = browser_of(world.sam)

    pages = list(pages_of(browser, "/inbox/?q=parcel+zebra"))

    assert [id for rows, _ in pages for id in rows] == [made[number].id for number in (4, 7, 9, 13)]
    assert all("Search older threads</a>" in page for _, page in pages[:-1])
    nowhere = list(pages_of(browser, "/inbox/?q=zebra+parcel+here"))
    assert [rows for rows, _ in nowhere] == [[]] * len(pages)
    assert "No older threads have what you look for." in nowhere[-1][1]


def test_a_thread_is_found_by_old_words_however_many_newer_messages_have_them(
    world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEAR", 1)
    made = many(world, 6)
    for row in made[:0:-1]:  # the older the thread, the newer the message
        threads.note(row.id, by=world.sam.actor, body="A zebra was in it")

    assert found(browser_of(world.sam), "zebra") == [
        row.id for row in sorted(made[1:], key=lambda row: row.last_at)[::-1]
    ]


def test_unread_threads_are_found_however_old_they_are(
    world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "LOOK", 4)
    monkeypatch.setattr(search, "NEAR", 4)
    made = many(world, 10)
    Conversation.objects.filter(id__in=[made[1].id, made[8].id]).update(attention=3, version=3)
    browser = browser_of(world.sam)

    pages = list(pages_of(browser, "/inbox/?unread=1"))

    assert [rows for rows, _ in pages] == [[made[1].id], [], [made[8].id]]
    assert ["Looked back to" in page for _, page in pages] == [True, False, False]
    assert ["Nothing found back to" in page for _, page in pages] == [False, True, False]
    assert found(browser, "other", unread="1") == [made[1].id, made[8].id]


def test_inputs_are_looked_up_in_their_index(world: World) -> None:
    ToolRun.objects.bulk_create(
        ToolRun(
            workspace=world.fernhill, conversation=world.conversation, tool_name="orderStatus", tool_label="Status",
            risk="low", input=f'{{"orderNumber":"ORD-{number}"}}', started_by=Starter.AGENT, queued_at=clock.now(),
        )
        for number in range(1_000)
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("analyze tools_toolrun")

    assert "Bitmap Index Scan on run_words" in Search.of("ORD-207").runs(world.fernhill.id).explain()


def test_the_words_are_marked_and_nothing_else_becomes_markup(world: World, browser_of: SignIn) -> None:
    world.ana.name = "Ana <b>Refund</b>"
    world.ana.save(update_fields=["name"])
    write(world, "x " * 60 + "<i>refund</i> & more", client_id="1")
    write(world, "Later", client_id="2")

    page = browser_of(world.sam).get("/inbox/?q=refund").content.decode()

    assert "<bdi>Ana &lt;b&gt;<mark>Refund</mark>&lt;/b&gt;</bdi>" in page
    assert '<span class="qrow-text">…' in page
    assert "&lt;i&gt;<mark>refund</mark>&lt;/i&gt; &amp; more</span>" in page
    assert 'name="q" id="queue-search" value="refund"' in page


def test_a_search_looks_everywhere_unless_told(world: World, browser_of: SignIn) -> None:
    write(world, "A refund")
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    browser = browser_of(world.sam)

    assert found(browser, "refund") == [world.conversation.id]
    assert found(browser, "refund", status="open") == []
    assert found(browser, "refund", status="resolved") == [world.conversation.id]
    assert found(browser, "refund", channel="email") == []
    assert found(browser, "refund", f="mine") == []


def test_mallory_finds_nothing_of_ours(world: World, browser_of: SignIn) -> None:
    write(world, "A refund")
    theirs = Customer.objects.create(workspace=world.elsewhere, subject="x", name="Bob")
    own = threads.start(theirs)
    threads.customer_wrote(own.id, body="refund", client_id="1")

    assert found(browser_of(world.mallory), "refund") == [own.id]
    assert found(browser_of(world.mallory), "ana") == []


def test_pages_of_a_search_follow_each_other(world: World, browser_of: SignIn) -> None:
    made = many(world, queue.PAGE + 5)
    Customer.objects.filter(name__startswith="Other").update(email="same@word.example")

    pages = list(pages_of(browser_of(world.sam), "/inbox/?q=word.example"))

    assert [id for rows, _ in pages for id in rows] == [row.id for row in made]
    assert len(pages) == 2


def test_a_look_up_that_takes_too_long_is_given_up_and_paging_on_still_finds_all(
    world: World, browser_of: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    Conversation.objects.all().delete()
    names = ["Bob"] * 100 + ["Zebra"] * 3_000
    people = [Customer(workspace=world.fernhill, subject=f"u{at}", name=name) for at, name in enumerate(names)]
    now = clock.now()
    made = [
        Conversation(workspace=world.fernhill, customer=person, last_at=now - timedelta(minutes=at))
        for at, person in enumerate(Customer.objects.bulk_create(people))
    ]
    Conversation.objects.bulk_create(made)
    monkeypatch.setattr(search, "PATIENCE", timedelta(milliseconds=1))
    monkeypatch.setattr(search, "NEAR", 20)
    monkeypatch.setattr(search, "FAR", 30)
    pages = pages_of(browser_of(world.sam), "/inbox/?q=zebra")

    first = next(pages)
    seen = [id for rows, _ in islice(pages, 4) for id in rows]

    assert first[0] == []
    assert "Nothing found back to" in first[1]
    assert "Search older threads</a>" in first[1]
    assert "No message, customer or order" not in first[1]
    assert seen == [row.id for row in made[100 : 100 + len(seen)]]
    assert len(seen) >= queue.PAGE


def test_odd_texts_are_words_or_nothing() -> None:
    assert Search.of("  a\0b  \N{BULLET} ").words == ("a\N{SYMBOL FOR NULL}b",)
    assert len(Search.of("word " * 50).words) == search.WORDS
    assert Search.of("x" * 1_000).words == ("x" * search.LONGEST,)


def test_the_palette_finds_a_few_threads(world: World, browser_of: SignIn) -> None:
    write(world, "A refund, like the other 8 of you")  # the newest
    made = many(world, 9, last_at=clock.now() - timedelta(hours=1))
    browser = browser_of(world.sam)

    assert browser.get("/inbox/find").content.decode().strip() == ""
    (option,) = re.findall(r'role="option"[^>]+href="([^"]+)"', browser.get("/inbox/find?q=refund").content.decode())
    assert option == f"/inbox/{world.conversation.id}/"
    # Whoever is called so comes before those who only said it.
    called, *others = re.findall(r'href="/inbox/(\w+)/"', browser.get("/inbox/find?q=other+8").content.decode())
    assert (called, others) == (made[8].id, [world.conversation.id])
    several = browser.get("/inbox/find?q=other").content.decode()
    assert several.count('role="option"') == 9
    assert re.findall(r'href="([^"]+)">', several)[-1] == "/inbox/?q=other"
    assert "More threads in the inbox" in several
    assert browser_of(world.mallory).get("/inbox/find?q=refund").content.decode().strip() == ""


def test_a_search_has_few_statements(world: World, browser_of: SignIn) -> None:
    many(world, 40)
    browser = browser_of(world.sam)

    with CaptureQueriesContext(connection) as statements:
        browser.get("/inbox/?q=other")
    assert len(statements) == 5
    with CaptureQueriesContext(connection) as statements:
        browser.get("/inbox/?q=xyzzy")
    assert len(statements) == 5
