"""Replies leave as mail, over a real SMTP server, in their thread, and once."""

from email.message import EmailMessage as Letter

import pytest
from asgiref.sync import async_to_sync

from agent.models.demo import DemoModel
from conversations import threads
from conversations.models import Channel, Conversation, Item, ItemKind
from mail import channels, inbound, outbox, sending
from mail.models import EmailChannel, EmailMessage, MailState
from team import chain
from tests import agent_process, waiting
from tests import world as worlds
from tests.mail.letters import ADDRESS, answer_to, letter, report
from tests.mail.smtp_server import Postbox
from tests.world import World


@pytest.fixture
def fernhill(transactional_db: None) -> World:
    return worlds.build()


@pytest.fixture
def channel(fernhill: World) -> EmailChannel:
    return channels.save(by=fernhill.sam.actor, address=ADDRESS, name="Fernhill", signs_replies=True)


def thread() -> Conversation:
    return Conversation.objects.get(channel=Channel.EMAIL)


def write(channel: EmailChannel, mail: Letter) -> None:
    inbound.take(mail.as_bytes(), channel=channel)


def test_the_agent_answers_and_the_answer_to_that_finds_its_thread(channel: EmailChannel, postbox: Postbox) -> None:
    write(channel, letter("Hello"))
    with agent_process.in_thread(DemoModel()):
        waiting.until(lambda: postbox.got)
        waiting.until(lambda: EmailMessage.objects.filter(state=MailState.SENT).exists())

    sender, to, mail = postbox.got[0]
    assert (sender, to, mail["Subject"]) == (ADDRESS, ["ana@example.com"], "Re: My order")
    assert (mail["In-Reply-To"], mail["References"]) == ("<1@example.com>", "<1@example.com>")
    assert (mail["Auto-Submitted"], mail["From"].addresses[0].addr_spec) == ("auto-replied", ADDRESS)
    said = Item.objects.get(kind=ItemKind.AGENT)
    assert said.text in mail.get_body(("plain",)).get_content()
    assert "<html>" in mail.get_body(("html",)).get_content()

    write(channel, letter("Thanks", To=mail["Reply-To"], Subject=mail["Subject"], Message_ID="<2@example.com>"))
    assert thread().items.filter(kind=ItemKind.CUSTOMER).count() == 2


def test_a_refusal_for_now_is_tried_again_under_the_same_id(
    channel: EmailChannel, fernhill: World, postbox: Postbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(channel, letter("Hello"))
    threads.take_over(thread().id, by=fernhill.sam.actor)
    postbox.answers = ["451 Later"]
    body = "It left **today**. ![track](https://evil.example/p.png?d=1) <img src=x onerror=alert(1)>"
    threads.reply(thread().id, by=fernhill.sam.actor, body=body)
    with agent_process.in_thread(DemoModel()):
        row = waiting.until(lambda: EmailMessage.objects.filter(attempts=1, claimed_at=None, direction="out").first())
        assert (row.state, row.reason) == (MailState.WAITING, "the mail server answered 451")
        EmailMessage.objects.filter(id=row.id).update(due_at=row.created_at)
        waiting.until(lambda: EmailMessage.objects.filter(state=MailState.SENT).exists())

    (mail,) = [each for _, _, each in postbox.got]
    assert mail["Message-ID"] == f"<{row.message_id}>"
    assert mail["Auto-Submitted"] is None
    assert mail["From"].addresses[0].display_name == "Sam Okafor (Fernhill)"
    html = mail.get_body(("html",)).get_content()
    assert "It left <strong>today</strong>." in html
    assert "<img" not in html  # what loads a picture tells somebody that the mail was read
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_a_refusal_for_good_and_a_bounced_address_are_told(
    channel: EmailChannel, fernhill: World, postbox: Postbox
) -> None:
    write(channel, letter("Hello"))
    threads.take_over(thread().id, by=fernhill.sam.actor)
    with agent_process.in_thread(DemoModel()):
        postbox.answers = ["550 No"]
        threads.reply(thread().id, by=fernhill.sam.actor, body="One")
        waiting.until(lambda: EmailMessage.objects.filter(state=MailState.FAILED).exists())
        threads.reply(thread().id, by=fernhill.sam.actor, body="Two")
        sent = waiting.until(lambda: EmailMessage.objects.filter(state=MailState.SENT).first())
        inbound.take(report(sent.message_id, channel=channel), channel=channel)
        threads.reply(thread().id, by=fernhill.sam.actor, body="Three")
        waiting.until(lambda: EmailMessage.objects.filter(state=MailState.FAILED).count() == 2)

    lines = thread().items.filter(kind=ItemKind.LINE).order_by("number").values_list("text", flat=True)
    assert [line for line in lines if "mail" in line or "reply" in line] == [
        "The reply to ana@example.com could not be sent: the mail server answered 550",
        "The mail to ana@example.com could not be delivered: 550 5.1.1 No such user here",
        f"The reply to ana@example.com could not be sent: {outbox.BOUNCED}",
    ]
    assert len(postbox.got) == 1
    write(channel, answer_to(sent.message_id, "I am back", Message_ID="<9@example.com>"))
    assert not outbox.has_bounced(EmailMessage.objects.filter(direction="out").latest("created_at"))


@pytest.mark.parametrize("domain", ["b..example", "b" * 64 + ".example"])
def test_an_address_that_no_mail_can_carry_is_told_at_once(
    channel: EmailChannel, fernhill: World, postbox: Postbox, domain: str
) -> None:
    write(channel, letter("Hello", From=f"ana@{domain}"))
    threads.reply(thread().id, by=fernhill.sam.actor, body="One")
    while chain.link_all():
        pass
    [reply] = outbox.claim(limit=9)

    async_to_sync(sending.run)(reply)

    reply.refresh_from_db()
    assert (reply.state, reply.reason) == (MailState.FAILED, "no mail can be written to this address")
