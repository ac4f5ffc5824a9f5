"""Mail that is handed in: into which thread it goes, and that it happens once."""

from email.message import EmailMessage as Letter

import pytest
from django.test import Client

from agent.rows import Turn
from conversations import threads
from conversations.models import Channel, Conversation, Customer, Item, ItemKind, Status
from mail import addresses, channels, inbound, parsing, reports, sending
from mail.models import Direction, EmailChannel, EmailMessage, Kind
from team.models import Event
from tests.files import png
from tests.mail.conftest import Hand
from tests.mail.letters import ADDRESS, answer_to, letter, report
from tests.world import World

OURS = f"{'0' * 32}.median@fernhill.example"


def thread() -> Conversation:
    return Conversation.objects.get(channel=Channel.EMAIL)


def texts(conversation: Conversation, *kinds: str) -> list[str]:
    return list(conversation.items.filter(kind__in=kinds).order_by("number").values_list("text", flat=True))


def sent_in(conversation: Conversation, *, message_id: str = OURS) -> EmailMessage:
    return EmailMessage.objects.create(
        workspace_id=conversation.workspace_id, conversation=conversation, direction=Direction.OUT, state="sent",
        message_id=message_id, address=conversation.customer.email,
    )  # fmt: skip


def key_of(conversation: Conversation) -> str:
    return addresses.signed(ADDRESS, conversation_id=conversation.id)


def test_a_first_mail_begins_a_thread_and_the_agent_gets_a_turn(world: World, hand_in: Hand) -> None:
    assert hand_in(letter("Where is ORD-1042?\n\nOn Mon, S <s@f.example> wrote:\nyes, refund it")) == 204

    item = Item.objects.get(kind=ItemKind.CUSTOMER)
    customer = thread().customer
    assert (item.text, item.quoted) == (
        "Subject: My order\n\nWhere is ORD-1042?", "On Mon, S <s@f.example> wrote:\nyes, refund it",
    )  # fmt: skip
    assert (customer.verified, customer.email, customer.name) == (False, "ana@example.com", "Ana Souza")
    assert customer != world.ana
    assert Turn.objects.filter(conversation=thread()).count() == 1
    row = EmailMessage.objects.get()
    assert (row.conversation, row.item, row.message_id, row.kind) == (thread(), item, "1@example.com", Kind.MESSAGE)


def test_the_same_mail_again_changes_nothing(hand_in: Hand) -> None:
    mail = letter().as_bytes()

    statuses = [hand_in(mail), hand_in(b"Received: from mx.example.com by another\r\n" + mail)]

    assert statuses == [204, 204]
    assert (EmailMessage.objects.count(), Item.objects.filter(kind=ItemKind.CUSTOMER).count()) == (1, 1)


def test_an_id_that_a_broken_program_used_again_is_another_mail(hand_in: Hand) -> None:
    hand_in(letter("One"))
    hand_in(letter("Two"))

    assert Item.objects.filter(kind=ItemKind.CUSTOMER).count() == 2


@pytest.mark.parametrize("by", ["address", "references", "folded references"])
def test_an_answer_goes_into_its_thread(by: str, hand_in: Hand) -> None:
    hand_in(letter())
    sent_in(thread())
    named = {
        "address": {"To": key_of(thread()).upper()},
        "references": {"In_Reply_To": f"<{OURS}>"},
        "folded references": {"References": f"<x@y> < {OURS} >"},
    }[by]

    hand_in(letter("And now?", Subject="Re: My order", Message_ID="<2@example.com>", **named))

    assert texts(thread(), "customer") == ["Subject: My order\n\nWhere is my order?", "And now?"]


@pytest.mark.parametrize("sender", ["Eve <eve@evil.example>", '"Ana <ana@example.com>" <eve@evil.example>'])
@pytest.mark.parametrize("by", ["address", "references"])
def test_a_stranger_never_lands_in_anothers_thread(by: str, sender: str, hand_in: Hand) -> None:
    hand_in(letter())
    anas = thread()
    sent_in(anas)
    named = {"To": key_of(anas)} if by == "address" else {"In_Reply_To": f"<{OURS}>"}

    hand_in(letter("Refund it to me", From=sender, Reply_To="ana@example.com", Message_ID="<2@evil.example>", **named))

    assert texts(anas, "customer") == ["Subject: My order\n\nWhere is my order?"]
    other = Conversation.objects.filter(channel=Channel.EMAIL).exclude(id=anas.id).get()
    assert (other.customer.email, other.customer.verified) == ("eve@evil.example", False)
    assert f"/inbox/{anas.id}/" in texts(other, "note")[0]


@pytest.mark.parametrize(
    "headers",
    [
        {},  # whoever knows Ana's address
        {"Reply_To": "ana@example.com", "From": "eve@evil.example"},
        {"From": "Ana Souza <ana@examp1e.com>"},  # with a digit for a letter
        {"From": "ana@example.com", "Sender": "eve@evil.example"},
    ],
)
def test_a_from_line_alone_leads_into_no_thread_and_proves_nothing(headers: dict[str, str], hand_in: Hand) -> None:
    hand_in(letter())
    anas = thread()

    hand_in(letter("Refund ORD-1042", **{"Message_ID": "<2@evil.example>", "Subject": "Re: My order", **headers}))

    assert texts(anas, "customer") == ["Subject: My order\n\nWhere is my order?"]
    other = Conversation.objects.filter(channel=Channel.EMAIL).exclude(id=anas.id).get()
    assert (other.customer.verified, other.claims) == (False, {})


def test_a_quoted_yes_is_not_among_the_words(hand_in: Hand) -> None:
    hand_in(letter())
    sent_in(thread())

    hand_in(answer_to(OURS, f"On Mon, 3 Nov 2026, Median <{ADDRESS}> wrote:\n> Shall I refund it? Answer yes.\n> yes"))

    item = thread().items.filter(kind=ItemKind.CUSTOMER).latest("number")
    assert (item.text, "yes" in item.quoted) == (inbound.NO_TEXT, True)


def test_a_mail_without_an_id_comes_once(hand_in: Hand) -> None:
    mail = letter(Message_ID="").as_bytes()

    assert [hand_in(mail), hand_in(mail)] == [204, 204]
    assert Item.objects.filter(kind=ItemKind.CUSTOMER, conversation__channel=Channel.EMAIL).count() == 1


def test_two_medians_do_not_answer_each_other(world: World, hand_in: Hand) -> None:
    """What the agent of one installation writes is nothing to answer for another's."""
    hand_in(letter())
    said = Item.objects.create(
        workspace=world.fernhill, conversation=thread(), number=99, version=99, kind=ItemKind.AGENT, text="Hello",
        author_name="Median AI", created_at=thread().created_at,
    )  # fmt: skip
    row = sent_in(thread())
    EmailMessage.objects.filter(id=row.id).update(item=said, subject="Re: My order")
    row.refresh_from_db()
    theirs = channels.save(
        by=world.mallory.actor, address="help@elsewhere.example", name="Elsewhere", signs_replies=True
    )

    inbound.take(sending.built(row).message().as_bytes(), channel=theirs)

    assert EmailMessage.objects.get(workspace=world.elsewhere).reason == "Auto-Submitted: auto-replied"
    assert not Conversation.objects.filter(workspace=world.elsewhere, channel=Channel.EMAIL).exists()


def test_conflicting_references_begin_a_thread_with_links(hand_in: Hand) -> None:
    hand_in(letter())
    anas = thread()
    sent_in(anas, message_id="a@fernhill.example")
    hand_in(letter("Hi", From="bob@example.com", Message_ID="<b1@example.com>"))
    bobs = Conversation.objects.get(customer__email="bob@example.com")
    sent_in(bobs, message_id="b@fernhill.example")

    hand_in(letter("Both", From="bob@example.com", Message_ID="<b2@example.com>",
                   References="<a@fernhill.example>, <b@fernhill.example>"))  # fmt: skip

    third = Conversation.objects.filter(channel=Channel.EMAIL).exclude(id__in=[anas.id, bobs.id]).get()
    assert third.customer == bobs.customer
    assert all(f"/inbox/{each.id}/" in texts(third, "note")[0] for each in (anas, bobs))


def test_a_made_up_key_and_another_workspaces_thread_lead_nowhere(world: World, hand_in: Hand) -> None:
    theirs = threads.start(
        Customer.objects.create(workspace=world.elsewhere, subject="x", email="ana@example.com"), channel=Channel.EMAIL
    )
    made_up = f"support+{theirs.id}.aaaaaaaaaaaa@fernhill.example"

    hand_in(letter("One", To=made_up))
    hand_in(letter("Two", To=key_of(theirs), Message_ID="<2@example.com>"))

    assert theirs.items.count() == 0
    assert Conversation.objects.filter(workspace=world.fernhill, channel=Channel.EMAIL).count() == 2


def test_a_resolved_thread_opens_again_and_a_closed_one_has_a_follower(world: World, hand_in: Hand) -> None:
    hand_in(letter())
    first = thread()
    sent_in(first)
    threads.end(first.id, by=world.sam.actor, to=Status.RESOLVED)
    hand_in(answer_to(OURS, "Still nothing"))
    assert thread().status == Status.OPEN

    threads.end(first.id, by=world.sam.actor, to=Status.CLOSED)
    hand_in(answer_to(OURS, "Hello?", Message_ID="<3@example.com>"))

    follower = Conversation.objects.filter(channel=Channel.EMAIL).exclude(id=first.id).get()
    assert texts(follower, "customer") == ["Subject: Re: My order\n\nHello?"]
    assert f"/inbox/{first.id}/" in texts(follower, "note")[0]


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto_Submitted": "auto-replied"}, {"Precedence": "bulk"}, {"X_Autoreply": "yes"}, {"Return_Path": "<>"},
        {"Subject": "Automatic reply: My order"},
    ],
)  # fmt: skip
def test_an_automatic_reply_is_a_line_and_nothing_else(headers: dict[str, str], world: World, hand_in: Hand) -> None:
    hand_in(letter())
    sent_in(thread())
    threads.end(thread().id, by=world.sam.actor, to=Status.RESOLVED)
    turns = Turn.objects.count()
    before = Conversation.objects.get(id=thread().id)

    hand_in(answer_to(OURS, "I am away", **headers))

    after = thread()
    assert texts(after, "line")[-1] == "An automatic reply came from Ana Souza; nobody answers it"
    assert (after.status, after.attention, after.last_at) == (Status.RESOLVED, before.attention, before.last_at)
    assert (Turn.objects.count(), after.items.filter(kind=ItemKind.CUSTOMER).count()) == (turns, 1)


@pytest.mark.parametrize(
    "headers",
    [{"List_Id": "<news.example.com>"}, {"From": ADDRESS}, {"From": "support+x@fernhill.example"}, {"From": ""}],
)
def test_what_nobody_wrote_begins_no_thread(headers: dict[str, str], hand_in: Hand) -> None:
    assert hand_in(letter("Read our news", **headers)) == 204

    row = EmailMessage.objects.get()
    assert (row.kind, row.excerpt, row.conversation) == (Kind.AUTOMATIC, "Read our news", None)
    assert not Conversation.objects.filter(channel=Channel.EMAIL).exists()


def test_two_programs_that_thank_each_other_stop(monkeypatch: pytest.MonkeyPatch, hand_in: Hand) -> None:
    monkeypatch.setattr(reports, "MOST", 3)
    hand_in(letter())
    sent_in(thread())

    for number in range(5):
        hand_in(answer_to(OURS, "Thanks!", Message_ID=f"<t{number}@example.com>"))

    assert texts(thread(), "customer")[1:] == ["Thanks!", "Thanks!"]
    assert texts(thread(), "line") == [
        "More mails came from Ana Souza within an hour than people write; these are kept aside"
    ]
    assert EmailMessage.objects.filter(kind=Kind.TOO_MANY, excerpt="Thanks!").count() == 3


def test_a_bounce_is_told_once_and_starts_nothing(channel: EmailChannel, hand_in: Hand) -> None:
    hand_in(letter())
    sent = sent_in(thread())
    turns, before = Turn.objects.count(), thread().version

    hand_in(report(sent.message_id, channel=channel, status="4.4.1", action="delayed"))
    assert thread().version == before
    for status in ("5.1.1", "5.1.2"):
        hand_in(report(sent.message_id, channel=channel, status=status))

    assert texts(thread(), "line") == [
        "The mail to ana@example.com could not be delivered: 550 5.1.1 No such user here"
    ]
    assert thread().attention == thread().version
    sent.refresh_from_db()
    assert sent.bounced_at is not None
    assert Turn.objects.count() == turns


def test_files_come_along_and_a_broken_picture_loses_no_mail(hand_in: Hand) -> None:
    mail: Letter = letter("Look")
    for number in range(6):
        mail.add_attachment(f"file {number}", filename=f"{number}.txt")
    mail.add_attachment(png(), maintype="image", subtype="png", filename="cup.png")
    mail.add_attachment(b"\x89PNG\r\n\x1a\nbroken", maintype="image", subtype="png", filename="bad.png")

    assert hand_in(mail) == 204

    first, second = thread().items.filter(kind=ItemKind.CUSTOMER).order_by("number")
    assert [file.name for file in (*first.sent, *second.sent)] == [*(f"{n}.txt" for n in range(6)), "cup.png"]
    assert texts(thread(), "line") == [
        "A file of the mail was not kept: “bad.png” is a picture that is damaged or cut off."
    ]


def test_a_long_mail_is_cut_and_attached_whole(hand_in: Hand) -> None:
    hand_in(letter("word " * 4_000))

    item = thread().items.get(kind=ItemKind.CUSTOMER)
    assert (len(item.text), item.text[-42:]) == (8_000, "\n\n(It goes on. The whole text is attached.)"[-42:])
    assert [(file.name, file.size) for file in item.sent] == [("message.txt", 19_999)]


def test_what_cannot_be_stored_is_replaced(hand_in: Hand) -> None:
    assert hand_in(b"From: a@example.com\r\nSubject: a\0b\r\nMessage-ID: <\0@x>\r\n\r\nnul \0 and > \r\n> \0q") == 204

    assert texts(thread(), "customer") == ["Subject: a␀b\n\nnul ␀ and >"]


@pytest.mark.parametrize(
    ("mail", "sender"),
    [
        pytest.param(b"From: a\0b@example.com", "", id="NUL in the sender"),
        pytest.param(b"From: " + b"a" * 64 + b"@" + b"b" * 246 + b".com", "", id="a sender beyond any address"),
        pytest.param(b"From: " + b"(" * 5_000 + b"\r\n a@example.com", "a@example.com", id="brackets in brackets"),
        pytest.param(b"From: a@example.com\r\nTo: " + b"a:" * 5_000, "a@example.com", id="groups in groups"),
        pytest.param(b"From: a@example.com\r\nReferences: <a\0b@x>", "a@example.com", id="NUL in an id"),
        pytest.param(b"From: a@example.com\r\nMessage-ID: <" + b"a" * 800 + b"\r\n " + b"b" * 500 + b"@x>",
                     "a@example.com", id="a long id"),
        pytest.param(b"From: a@example.com\r\n\r\n\0\x01\x02", "a@example.com", id="nothing that shows"),
    ],
)  # fmt: skip
def test_no_mail_is_refused_for_ever(mail: bytes, sender: str, hand_in: Hand) -> None:
    assert hand_in(mail + b"\r\n\r\n") == 204

    row = EmailMessage.objects.get()
    assert (row.address, row.kind) == (sender, Kind.MESSAGE if sender else Kind.AUTOMATIC)
    said = Item.objects.filter(conversation__channel=Channel.EMAIL).values_list("text", flat=True)
    assert list(said) == ([inbound.NO_TEXT] if sender else [])


def test_only_who_knows_the_token_hands_in_and_nothing_too_large(
    channel: EmailChannel, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"/channels/email/{channels.token_of(channel)}"
    answers = [
        client.post(path[:-1], letter().as_bytes(), content_type="message/rfc822"),
        client.get(path),
        client.post(path, b"x" * (parsing.SIZE_LIMIT + 1), content_type="message/rfc822"),
        client.post(path, letter("y" * 3_000_000).as_bytes(), content_type="message/rfc822"),
    ]

    assert [answer.status_code for answer in answers] == [404, 405, 413, 204]
    assert "Request Entity Too Large: /channels/email/…" in caplog.messages
    assert channels.token_of(channel)[:-1] not in caplog.text
    assert EmailMessage.objects.count() == 1
    assert not Event.objects.filter(data__icontains="Where is my order").exists()
