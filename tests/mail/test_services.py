"""Mail services hand in mail by their webhooks, each in its own form and with its own proof."""

import base64
import hashlib
import hmac
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from conversations.models import Channel, Item, ItemKind
from mail import channels
from mail.models import EmailChannel, EmailMessage
from median_site.lib import clock
from tests.mail.letters import ADDRESS, letter
from tests.world import World

pytestmark = pytest.mark.urls("tests.mail.service_urls")
SECRET = "median:a long password"
AUTHORIZATION = {"Authorization": "Basic " + base64.b64encode(SECRET.encode()).decode()}
KEY = "mailgun signing key"


@pytest.fixture(autouse=True)
def service(settings: pytest.FixtureRequest) -> None:
    settings.ANYMAIL = {"WEBHOOK_SECRET": SECRET, "MAILGUN_WEBHOOK_SIGNING_KEY": KEY}


def mailgun(raw: str, *, key: str = KEY) -> dict[str, str]:
    timestamp, token = str(int(clock.now().timestamp())), "0" * 50
    signature = hmac.new(key.encode(), f"{timestamp}{token}".encode(), hashlib.sha256).hexdigest()
    return {
        "timestamp": timestamp, "token": token, "signature": signature, "sender": "bounces@example.com",
        "recipient": f"{ADDRESS}", "body-mime": raw,
    }  # fmt: skip


def postmark(to: str) -> str:
    return json.dumps({
        "FromFull": {"Email": "ana@example.com", "Name": "Zoé Souza"}, "From": "ana@example.com", "To": to,
        "ToFull": [{"Email": to, "Name": "", "MailboxHash": ""}], "CcFull": [], "BccFull": [], "OriginalRecipient": to,
        "Subject": "My order", "MessageID": "73e6d360-66eb-11e1-8e72-a8904824019b",
        "Date": "Mon, 30 Nov 2026 10:00:00 +0000",
        "TextBody": "Where is it?\n\nOn Mon, S <s@f.example> wrote:\n> yes", "HtmlBody": "", "ReplyTo": "", "Tag": "",
        "Headers": [{"Name": "Message-ID", "Value": "<1@example.com>"}, {"Name": "X-Spam-Status", "Value": "No"}],
        "Attachments": [{"Name": "a.txt", "Content": "SGk=", "ContentType": "text/plain", "ContentLength": 2}],
    })  # fmt: skip


def said() -> list[tuple[str, str]]:
    rows = Item.objects.filter(kind=ItemKind.CUSTOMER, conversation__channel=Channel.EMAIL)
    return [(row.text, row.quoted) for row in rows]


def test_mailgun_hands_in_a_raw_mail_once(channel: EmailChannel, client: Client) -> None:
    odd = f"Cc: {'(' * 5_000}\nComments: {'é' * 100}\n"  # which Python cannot fold anew
    sent = mailgun(odd + letter(To="hello@other.example").as_string())

    answers = [client.post("/channels/email/services/mailgun/inbound_mime/", sent, headers=AUTHORIZATION) for _ in "12"]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert said() == [("Subject: My order\n\nWhere is my order?", "")]


def test_a_mail_larger_than_a_form_comes_in(channel: EmailChannel, client: Client) -> None:
    large = letter("It is broken")
    large.add_attachment(b"x" * 2_500_000, maintype="application", subtype="pdf", filename="a.pdf")
    parts = mailgun("")
    del parts["body-mime"]
    parts |= {
        "from": "Bob <bob@example.com>", "body-plain": "Mine too", "attachment-count": "1",
        "attachment-1": SimpleUploadedFile("é.pdf", b"%PDF\r\n--\r\xff" * 250_000, content_type="application/pdf"),
        "message-headers": '[["From", "Bob <bob@example.com>"]]',
    }  # fmt: skip
    path = "/channels/email/services/mailgun/inbound"
    answers = [
        client.post(f"{path}_mime/", mailgun(large.as_string()), headers=AUTHORIZATION),
        client.post(f"{path}/", parts, headers=AUTHORIZATION),
        client.post(f"{path}/x/", parts, headers=AUTHORIZATION),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 404]
    rows = Item.objects.filter(kind=ItemKind.CUSTOMER, conversation__channel=Channel.EMAIL).order_by("id")
    assert [(row.text[-12:], [(file.name, file.size) for file in row.sent]) for row in rows] == [
        ("It is broken", [("a.pdf", 2_500_000)]),
        ("Mine too", [("é.pdf", 2_500_000)]),
    ]


def test_postmark_hands_in_a_mail_in_parts(channel: EmailChannel, client: Client) -> None:
    answer = client.post(
        "/channels/email/services/postmark/inbound/", postmark(ADDRESS), content_type="application/json",
        headers=AUTHORIZATION,
    )  # fmt: skip

    assert answer.status_code == 200
    assert said() == [("Subject: My order\n\nWhere is it?", "On Mon, S <s@f.example> wrote:\n> yes")]
    item = Item.objects.get(kind=ItemKind.CUSTOMER)
    assert (item.author_name, [file.name for file in item.sent]) == ("Zoé Souza", ["a.txt"])


def test_without_the_proof_nothing_comes_in(channel: EmailChannel, client: Client) -> None:
    forged = mailgun(letter().as_string(), key="another key")
    answers = [
        client.post("/channels/email/services/mailgun/inbound_mime/", forged, headers=AUTHORIZATION),
        client.post("/channels/email/services/mailgun/inbound_mime/", mailgun(letter().as_string())),
        client.post("/channels/email/services/postmark/inbound/", postmark(ADDRESS), content_type="application/json"),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 400]
    assert not EmailMessage.objects.exists()


def test_mail_for_nobody_here_is_forgotten(channel: EmailChannel, client: Client) -> None:
    answer = client.post(
        "/channels/email/services/postmark/inbound/", postmark("nobody@fernhill.example"),
        content_type="application/json", headers=AUTHORIZATION,
    )  # fmt: skip

    assert answer.status_code == 200
    assert not EmailMessage.objects.exists()


def test_a_mail_to_several_workspaces_is_each_ones(channel: EmailChannel, world: World, client: Client) -> None:
    channels.save(by=world.mallory.actor, address="help@elsewhere.example", name="Elsewhere", signs_replies=True)
    both = letter(To=f"{ADDRESS}, Help@elsewhere.example, {ADDRESS}").as_string()
    path = "/channels/email/services/mailgun/inbound_mime/"

    client.post(path, mailgun(both), headers=AUTHORIZATION)  # delivered to the first one, as the envelope says
    assert [row.workspace for row in EmailMessage.objects.all()] == [world.fernhill]
    for _ in "12":
        client.post(path, mailgun(both) | {"recipient": "everybody@list.example"}, headers=AUTHORIZATION)

    assert {row.workspace for row in EmailMessage.objects.all()} == {world.fernhill, world.elsewhere}
    assert EmailMessage.objects.count() == 2
