"""A mailbox that cannot be read: a sentence for those who set it up, in time, and no address that is out of bounds."""

import socket
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest
from django.test import Client

from mail import channels, imap, jobs, mailboxes, polling
from mail.models import EmailChannel, Mailbox
from median_site.lib import clock
from team.models import Event, Teammate
from tests import certificates
from tests.imap_server import USER, ImapServer, scripted
from tests.mail.letters import letter
from tests.mail.test_mailbox import due, save
from tests.world import World

SignIn = Callable[[Teammate], Client]
OK = b"{tag} OK done\r\n"
HANDSHAKE = {
    "CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n" + OK,
    "LOGIN": OK,
    "SELECT": b"* OK [UIDVALIDITY 1] x\r\n* OK [UIDNEXT 9] x\r\n" + OK,
    "UID SEARCH": b"* SEARCH 8\r\n" + OK,
}


@pytest.mark.parametrize(
    ("answers", "security", "why"),
    [
        ({}, "none", "The mail server did not answer in time."),
        ({"CAPABILITY": b"* BYE Too busy\r\n"}, "none", "The mail server broke the connection off: Too busy."),
        ({}, "tls", "The mail server does not speak TLS at this port."),
        (HANDSHAKE, "starttls", "The mail server has no STARTTLS at this port."),
        (HANDSHAKE | {"CAPABILITY": b"* CAPABILITY IMAP4rev1 LOGINDISABLED\r\n" + OK}, "none",
         "The mail server takes no password this way: choose TLS or STARTTLS."),
        (HANDSHAKE | {"LOGIN": b"{tag} NO [ALERT] <b>no</b> hunter2 here\r\n"}, "none",
         "The mail server refused the user name or password: [ALERT] <b>no</b> … here."),
        (HANDSHAKE | {"UID SEARCH": b"{tag} BAD what\r\n"}, "none",
         "The mail server did not do what was asked: what."),
        (HANDSHAKE | {"UID SEARCH": b"* SEARCH 99999999999999999999\r\n" + OK}, "none",
         "The mail server did not do what was asked: a number beyond 32 bits."),
        (HANDSHAKE | {"UID SEARCH": b"* SEARCH {9000000}\r\n"}, "none",
         "The mail server sent more than was asked for."),
    ],
)  # fmt: skip
def test_what_fails_is_told_in_a_sentence(
    answers: dict[str, bytes], security: str, why: str, world: World, channel: EmailChannel,
    monkeypatch: pytest.MonkeyPatch, browser_of: SignIn,
) -> None:  # fmt: skip
    monkeypatch.setattr(imap, "_ANSWER_S", 0.3)
    with scripted(answers) as port:
        save(world, port=port, security=security, password="hunter2")
        page = browser_of(world.sam).post("/settings/email/mailbox/check").content.decode()

    row = Mailbox.objects.get()
    assert row.error == why
    assert why.replace("<b>", "&lt;b&gt;").replace("</b>", "&lt;/b&gt;").replace("'", "&#39;") in page
    assert row.due_at > clock.now()
    assert "hunter2" not in page
    assert Event.objects.get(kind="email_mailbox.failed").data["why"] == why


def test_a_server_that_drips_is_cut_off(world: World, channel: EmailChannel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_DEADLINE_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=_drip, args=(listening,), daemon=True).start()
        row = save(world, port=listening.getsockname()[1])
        jobs.poll()

    row.refresh_from_db()
    assert row.error == "The mail server did not answer in time."


def test_a_folder_that_is_for_reading_alone_is_read(world: World, channel: EmailChannel) -> None:
    mail = letter("Hi").as_bytes()
    found = b'* 1 FETCH (UID 8 RFC822.SIZE 9 INTERNALDATE "01-Dec-2099 10:00:00 +0000" BODY[] {%d}\r\n%b)\r\n'
    answers = {"UID FETCH": found % (len(mail), mail) + OK, "UID STORE": b"{tag} NO read-only\r\n", "LOGOUT": OK}
    with scripted(HANDSHAKE | answers) as port:
        save(world, port=port, password="hunter2")
        assert jobs.poll() == 1

    row = Mailbox.objects.get()
    assert (row.last_uid, row.error) == (8, "")


def test_one_that_hangs_holds_up_no_other(world: World, channel: EmailChannel) -> None:
    hangs = save(world, port=1)
    Mailbox.objects.update(failures=1, due_at=clock.now() - timedelta(hours=1))
    by = world.mallory.actor
    channels.save(by=by, address="help@elsewhere.example", name="Elsewhere", signs_replies=True)
    sound = mailboxes.save(
        by=by, host="127.0.0.1", port="1", security="none", username="u", password="p", folder="INBOX"
    )  # fmt: skip

    assert [mailboxes.claim_due() for _ in range(3)] == [sound, hangs, None]


def _drip(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    with connection:
        try:
            while True:
                connection.sendall(b"x")
        except OSError:
            pass


@pytest.mark.parametrize(
    ("host", "security", "why"),
    [
        ("10.0.0.1", "tls", "The address of this host is not public."),
        ("127.0.0.1", "tls", "The address of this host is not public."),
        ("203.0.113.9", "none", "Without encryption only hosts of allowed networks are spoken to."),
        ("no-such-host.invalid", "tls", "The host no-such-host.invalid could not be found."),
    ],
)
def test_hosts_keep_to_the_rules_of_outbound_calls(
    host: str, security: str, why: str, world: World, channel: EmailChannel, settings: pytest.FixtureRequest
) -> None:
    settings.MEDIAN_ALLOWED_NETWORKS = []
    row = mailboxes.save(
        by=world.sam.actor, host=host, port="993", security=security, username=USER, password="x", folder=""
    )
    jobs.poll()

    row.refresh_from_db()
    assert (row.error, row.folder) == (why, "INBOX")


def test_over_tls_with_a_certificate_that_is_checked(
    world: World, channel: EmailChannel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificates.localhost(tmp_path)
    with ImapServer(certificate=certificate).running() as server:
        row = save(world, port=server.port, security="starttls")
        jobs.poll()
        row.refresh_from_db()
        assert row.error.startswith("The mail server’s certificate is not good for 127.0.0.1: self-signed certificate")

        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        Mailbox.objects.update(host="localhost")
        due(row)
        jobs.poll()

    row.refresh_from_db()
    assert row.error == ""
