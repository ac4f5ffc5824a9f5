"""Mail that is fetched from a mailbox, over a real IMAP server: each mail once, whatever breaks in between."""

import itertools
from collections.abc import Callable, Iterator
from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection
from django.test import Client

from conversations.models import Channel, Item, ItemKind
from mail import channels, jobs, mailboxes, polling
from mail.models import EmailChannel, EmailMessage, Kind, Mailbox
from median_site.lib import clock
from team.models import Event, Teammate
from tests import world as worlds
from tests.imap_server import PASSWORD, USER, ImapServer
from tests.mail.letters import ADDRESS, letter
from tests.world import World

SignIn = Callable[[Teammate], Client]
_names = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[ImapServer]:
    with ImapServer().running() as running:
        yield running


@pytest.fixture
def folder() -> str:
    return f"Support {next(_names)}"


def save(
    world: World, *, port: int, folder: str = "INBOX", security: str = "none", password: str = PASSWORD
) -> Mailbox:
    return mailboxes.save(
        by=world.sam.actor, host="127.0.0.1", port=str(port), security=security, username=USER, password=password,
        folder=folder,
    )  # fmt: skip


@pytest.fixture
def mailbox(world: World, channel: EmailChannel, server: ImapServer, folder: str) -> Mailbox:
    """Set up on a folder in which there was mail before."""
    server.put(folder, letter("Old", Message_ID="<0@example.com>").as_bytes(), came=clock.now() - timedelta(days=3))
    row = save(world, port=server.port, folder=folder)
    assert jobs.poll() == 0
    return row


def said() -> list[str]:
    return list(
        Item.objects.filter(kind=ItemKind.CUSTOMER, conversation__channel=Channel.EMAIL)
        .order_by("id")
        .values_list("text", flat=True)
    )


def due(row: Mailbox) -> Mailbox:
    Mailbox.objects.filter(id=row.id).update(due_at=clock.now() - timedelta(seconds=1))
    row.refresh_from_db()
    return row


def mails(*words: str) -> list[bytes]:
    return [letter(word, Message_ID=f"<{word}@example.com>", Subject="").as_bytes() for word in words]


def test_new_mail_is_fetched_once_and_marked_as_read(mailbox: Mailbox, server: ImapServer, folder: str) -> None:
    server.put(folder, *mails("One", "Two"))

    counts = [jobs.poll()]
    for _ in "12":
        due(mailbox)
        counts.append(jobs.poll())

    assert counts == [0, 2, 0]  # it was not due
    assert said() == ["One", "Two"]
    assert server.seen(folder) == 2
    mailbox.refresh_from_db()
    assert (mailbox.error, mailbox.claimed_at, mailbox.checked_at is not None) == ("", None, True)


def test_mail_that_comes_before_the_first_look_is_not_missed(
    world: World, channel: EmailChannel, server: ImapServer
) -> None:
    row = save(world, port=server.port, folder="Not yet")
    jobs.poll()
    row.refresh_from_db()
    assert row.error.startswith("The mailbox has no folder “Not yet”, or it cannot be opened")

    server.put("Not yet", *mails("Early"))
    due(row)
    jobs.poll()

    assert said() == ["Early"]
    assert [event.kind for event in Event.objects.filter(kind__startswith="email_mailbox").order_by("id")] == [
        "email_mailbox.failed", "email_mailbox.mended",
    ]  # fmt: skip


def test_a_process_that_dies_in_between_loses_and_doubles_nothing(
    mailbox: Mailbox, server: ImapServer, folder: str
) -> None:
    server.put(folder, *mails("One", "Two", "Three"))
    before = Mailbox.objects.values("uid_validity", "last_uid").get()
    due(mailbox)
    jobs.poll()
    Mailbox.objects.update(**before)  # as if it had died before it noted how far it was
    due(mailbox)

    assert jobs.poll() == 0
    assert said() == ["One", "Two", "Three"]


def test_a_folder_with_new_numbers_is_read_by_time(mailbox: Mailbox, server: ImapServer, folder: str) -> None:
    old = letter("Old", Message_ID="<0@example.com>").as_bytes()
    one, two = mails("One", "Two")
    server.put(folder, one)
    due(mailbox)
    jobs.poll()
    with server.session() as session:
        session.delete(f'"{folder}"')
    server.put(folder, old, came=clock.now() - timedelta(days=3))
    server.put(folder, one, two)
    former = due(mailbox).uid_validity

    jobs.poll()

    assert said() == ["One", "Two"]
    mailbox.refresh_from_db()
    assert mailbox.uid_validity != former


def test_many_mails_are_fetched_in_several_looks(
    monkeypatch: pytest.MonkeyPatch, mailbox: Mailbox, server: ImapServer, folder: str
) -> None:
    monkeypatch.setattr(polling, "AT_ONCE", 2)
    server.put(folder, *mails("One", "Two", "Three", "Four", "Five"))
    due(mailbox)

    assert jobs.poll() == 5  # it is due again at once
    assert said() == ["One", "Two", "Three", "Four", "Five"]


def test_a_mail_that_breaks_us_does_not_hold_up_the_others(mailbox: Mailbox, server: ImapServer, folder: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "alter table conversations_item add constraint broken check (text not like '%Poison%') not valid"
        )
    server.put(folder, *mails("One", "Poison", "Two"))
    for _ in "12":
        due(mailbox)
        jobs.poll()

    assert said() == ["One", "Two"]
    assert server.seen(folder) == 2
    row = EmailMessage.objects.get(kind=Kind.AUTOMATIC)
    assert row.reason == "It could not be taken in (IntegrityError). It is in the mailbox, unread"
    assert Event.objects.filter(kind="email_mailbox.failed").count() == 1


def test_of_a_mail_that_is_too_large_the_words_are_kept(
    monkeypatch: pytest.MonkeyPatch, mailbox: Mailbox, server: ImapServer, folder: str
) -> None:
    monkeypatch.setattr(polling.parsing, "SIZE_LIMIT", 200_000)
    mail = letter("Look at this", Subject="")
    mail.add_attachment(b"x" * 300_000, maintype="application", subtype="pdf", filename="plan.pdf")
    server.put(folder, mail.as_bytes(), *mails("Next"))
    due(mailbox)
    jobs.poll()

    assert said() == ["Look at this", "Next"]
    assert not any(item.files for item in Item.objects.all())
    assert Item.objects.get(kind=ItemKind.LINE, text__startswith="A file of the mail").text == (
        "A file of the mail was not kept: the mail has more than 0 MB, and only its words are here."
    )


def test_a_mailbox_set_up_anew_begins_anew(mailbox: Mailbox, server: ImapServer, world: World) -> None:
    claimed = mailboxes.claim(by=world.sam.actor)
    assert claimed is not None
    assert mailboxes.claim(by=world.sam.actor) is None  # somebody looks

    save(world, port=server.port, folder="INBOX")
    assert not mailboxes.advance(claimed, uid_validity=1, to=1)
    mailboxes.failed(claimed, why="late")

    mailbox.refresh_from_db()
    assert (mailbox.uid_validity, mailbox.last_uid, mailbox.error) == (None, 0, "")


def test_a_password_never_goes_to_another_host(mailbox: Mailbox, world: World, browser_of: SignIn) -> None:
    form = {"host": "imap.evil.example", "port": "993", "security": "tls", "username": USER, "folder": "INBOX"}

    answer = browser_of(world.sam).post("/settings/email/mailbox/save", form, headers={"HX-Request": "true"})

    assert (answer.status_code, answer.content.decode()) == (400, "Type the password of the mailbox.")
    mailbox.refresh_from_db()
    assert mailbox.host == "127.0.0.1"


@pytest.mark.parametrize("name", ["INBOX", "Kündigungen & mehr", "日本語"])
def test_a_folder_is_named_as_imap_writes_it(
    name: str, server: ImapServer, world: World, channel: EmailChannel
) -> None:
    written = {"INBOX": "INBOX", "Kündigungen & mehr": "K&APw-ndigungen &- mehr", "日本語": "&ZeVnLIqe-"}[name]
    server.put(written, *mails("Hi"))
    save(world, port=server.port, folder=name)
    jobs.poll()

    assert said() == ["Hi"]


@pytest.mark.django_db(transaction=True)
def test_two_that_look_at_once_take_each_mail_once(server: ImapServer, folder: str) -> None:
    fernhill = worlds.build()
    channels.save(by=fernhill.sam.actor, address=ADDRESS, name="Fernhill", signs_replies=True)
    row = save(fernhill, port=server.port, folder=folder)
    server.put(folder, *mails("One", "Two", "Three"))
    claimed = [mailboxes.claim(by=fernhill.sam.actor), None]
    Mailbox.objects.update(claimed_at=None)
    claimed[1] = mailboxes.claim(by=fernhill.sam.actor)
    assert all(claimed)

    threads = [Thread(target=_look, args=(each,)) for each in claimed]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(said()) == ["One", "Three", "Two"]
    row.refresh_from_db()
    assert (row.error, row.claimed_at) == ("", None)


def _look(row: Mailbox) -> None:
    polling.look(row)
    connection.close()


@pytest.mark.parametrize("path", ["save", "check", "remove"])
def test_a_member_and_a_get_change_nothing(path: str, mailbox: Mailbox, world: World, browser_of: SignIn) -> None:
    before = Mailbox.objects.values().get()

    pressed = browser_of(world.kim).post(f"/settings/email/mailbox/{path}", {})
    got = browser_of(world.sam).get(f"/settings/email/mailbox/{path}")
    elsewhere = browser_of(world.mallory).post(f"/settings/email/mailbox/{path}", {})

    assert (pressed.status_code, got.status_code) == (403, 405)
    assert elsewhere.status_code in {400, 404}
    assert Mailbox.objects.values().get() == before


def test_an_owner_checks_and_removes_it(
    mailbox: Mailbox, server: ImapServer, folder: str, world: World, browser_of: SignIn
) -> None:
    browser = browser_of(world.sam)
    server.put(folder, *mails("One"))
    pages = [browser.post("/settings/email/mailbox/check").content.decode() for _ in "12"]
    Mailbox.objects.update(claimed_at=clock.now(), due_at=clock.now() + timedelta(minutes=1))
    busy = browser.post("/settings/email/mailbox/check").content.decode()
    browser.post("/settings/email/mailbox/remove")

    assert "1 new mail came in." in pages[0]
    assert "The mailbox opens. No new mail." in pages[1]
    assert "It is being looked into at this moment." in busy
    assert PASSWORD not in "".join(pages)
    assert not Mailbox.objects.exists()
    assert browser.post("/settings/email/mailbox/check").status_code == 404
