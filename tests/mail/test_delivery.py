"""What becomes of replies that did not arrive: told at the message, in the thread and on Logs, and sent again."""

import hashlib
import hmac
import json
from collections.abc import Callable

import pytest
from django.test import Client

from agent.models.demo import DemoModel
from conversations import fragments, threads
from conversations.models import Channel, Conversation, Item, ItemKind
from mail import channels, inbound, outbox
from mail.models import Direction, EmailChannel, EmailMessage, MailState
from team import chain
from team.models import Event, Teammate
from tests import agent_process, waiting
from tests import world as worlds
from tests.mail.conftest import Hand
from tests.mail.letters import ADDRESS, letter, report
from tests.mail.smtp_server import Postbox
from tests.mail.test_services import AUTHORIZATION, KEY, SECRET
from tests.world import World

REFUSED = "550 No <b>user</b>"
SignIn = Callable[[Teammate], Client]


def thread() -> Conversation:
    return Conversation.objects.get(channel=Channel.EMAIL)


@pytest.fixture
def reply(world: World, hand_in: Hand) -> EmailMessage:
    """Sam's answer to Ana, which a mail server took."""
    hand_in(letter())
    threads.reply(thread().id, by=world.sam.actor, body="It left today.")
    chain.link_all()
    row = EmailMessage.objects.get(direction=Direction.OUT)
    outbox.sent(row)
    return row


def shown(reply: EmailMessage) -> str:
    return str(fragments.item(Item.objects.get(id=reply.item_id)))


def test_a_report_is_told_at_the_message(reply: EmailMessage, channel: EmailChannel) -> None:
    before = thread().version
    inbound.take(report(reply.message_id, channel=channel), channel=channel)

    assert "<span>This mail bounced: 550 5.1.1 No such user here</span>" in shown(reply)
    assert f'hx-post="/mail/replies/{reply.item_id}/retry"' in shown(reply)
    assert Item.objects.get(id=reply.item_id).version > before
    assert thread().attention == thread().version


def postmark(reply: EmailMessage, **said: str) -> str:
    told = {
        "RecordType": "Bounce",
        "Type": "HardBounce",
        "MessageID": reply.service_id,
        "Details": REFUSED,
    }
    told |= {"Email": "ana@example.com", "BouncedAt": "2026-11-30T10:00:00Z", "Description": "Hard bounce", "ID": "1"}
    return json.dumps(told | said)


def mailgun(reply: EmailMessage, *, key: str = KEY) -> str:
    signature = hmac.new(key.encode(), b"1800000000token", hashlib.sha256).hexdigest()
    return json.dumps({
        "signature": {"timestamp": "1800000000", "token": "token", "signature": signature},
        "event-data": {
            "event": "failed", "severity": "permanent", "id": "1", "recipient": "ana@example.com", "timestamp": 1.8e9,
            "message": {"headers": {"message-id": reply.message_id}}, "delivery-status": {"message": REFUSED},
        },
    })  # fmt: skip


@pytest.fixture
def tell(client: Client, settings: pytest.FixtureRequest) -> Callable[[str, str], int]:
    """What a service posts to its webhook for what became of mails. Gives the answer's status."""
    settings.ANYMAIL = {"WEBHOOK_SECRET": SECRET, "MAILGUN_WEBHOOK_SIGNING_KEY": KEY}

    def post(service: str, body: str, *, headers: dict[str, str] = AUTHORIZATION) -> int:
        path = f"/channels/email/services/{service}/tracking/"
        return client.post(path, body, content_type="application/json", headers=headers).status_code

    return post


@pytest.mark.urls("tests.mail.service_urls")
@pytest.mark.parametrize("service", ["postmark", "mailgun"])
def test_a_service_says_that_a_mail_bounced(service: str, reply: EmailMessage, tell: Callable[[str, str], int]) -> None:
    if service == "postmark":
        EmailMessage.objects.filter(id=reply.id).update(service_id="73e6d360-66eb-11e1-8e72-a8904824019b")
        reply.refresh_from_db()
    body = {"postmark": postmark, "mailgun": mailgun}[service](reply)

    assert [tell(service, body) for _ in "12"] == [200, 200]

    assert "This mail bounced: 550 No &lt;b&gt;user&lt;/b&gt;" in shown(reply)
    line = thread().items.filter(kind=ItemKind.LINE).latest("number")
    assert line.text == "The mail to ana@example.com could not be delivered: 550 No <b>user</b>"
    assert thread().attention > reply.item.number  # type: ignore[union-attr]
    assert Event.objects.filter(kind="email.bounced").count() == 1


@pytest.mark.urls("tests.mail.service_urls")
def test_a_complaint_is_told_and_what_is_only_late_is_not(reply: EmailMessage, tell: Callable[[str, str], int]) -> None:
    for said in ({"Type": "Transient"}, {"MessageID": "another"}, {"MessageID": "\0"}):
        assert tell("postmark", postmark(reply, **said)) == 200
    assert not Event.objects.filter(kind="email.bounced").exists()

    tell("postmark", postmark(reply, RecordType="SpamComplaint", Type="SpamComplaint"))

    assert "The customer reported this mail as spam" in shown(reply)
    assert thread().items.latest("number").text == "ana@example.com reported the mail as spam"
    assert outbox.has_bounced(reply)


@pytest.mark.urls("tests.mail.service_urls")
def test_without_the_proof_a_service_is_not_believed(reply: EmailMessage, tell: Callable[..., int]) -> None:
    answers = [
        tell("postmark", postmark(reply), headers={}), tell("mailgun", mailgun(reply, key="another")),
        tell("mailgun", mailgun(reply), headers={}),
    ]  # fmt: skip

    assert answers == [400, 400, 400]
    assert not Event.objects.filter(kind="email.bounced").exists()


def test_a_bounced_mail_is_sent_again_by_a_press(
    reply: EmailMessage, channel: EmailChannel, world: World, browser_of: SignIn
) -> None:
    path = f"/mail/replies/{reply.item_id}/retry"
    htmx = {"HX-Request": "true"}
    early = browser_of(world.kim).post(path, headers=htmx)
    inbound.take(report(reply.message_id, channel=channel), channel=channel)
    stranger, got = browser_of(world.mallory).post(path), browser_of(world.kim).get(path)
    assert EmailMessage.objects.get(id=reply.id).state == MailState.SENT
    presses = [browser_of(world.kim).post(path, headers=htmx) for _ in "12"]

    assert [answer.status_code for answer in (early, stranger, got, *presses)] == [409, 404, 405, 204, 409]
    row = EmailMessage.objects.get(id=reply.id)
    assert (row.state, row.bounced_at, row.message_id) == (MailState.WAITING, None, reply.message_id)
    assert not outbox.has_bounced(row)
    assert "Send again" not in shown(reply)
    assert thread().items.latest("number").text == "Kim had the mail to ana@example.com sent again"


@pytest.mark.django_db(transaction=True)
def test_a_reply_that_was_given_up_leaves_after_a_press(postbox: Postbox, browser_of: SignIn) -> None:
    fernhill = worlds.build()
    channel = channels.save(by=fernhill.sam.actor, address=ADDRESS, name="Fernhill", signs_replies=True)
    inbound.take(letter("Hello").as_bytes(), channel=channel)
    threads.take_over(thread().id, by=fernhill.sam.actor)
    postbox.answers = ["550 No"]
    item = threads.reply(thread().id, by=fernhill.sam.actor, body="One")
    with agent_process.in_thread(DemoModel()):
        waiting.until(lambda: EmailMessage.objects.filter(state=MailState.FAILED).exists())
        item.refresh_from_db()
        assert item.undelivered == "This mail was not sent: the mail server answered 550"
        browser_of(fernhill.sam).post(f"/mail/replies/{item.id}/retry")
        waiting.until(lambda: postbox.got)

    assert Item.objects.get(id=item.id).undelivered == ""
