"""Messages, lines, rows of the queue, empty places and toasts, drawn by the functions and templates of the pages."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from approvals import errors
from conversations import fragments, lines
from conversations.files import File
from conversations.lines import Facts
from conversations.models import Channel, Handler, ItemKind, Status
from median_site.dashboard.queue import Filter
from median_site.lib import clock
from median_site.lib.fragments import render
from median_site.lib.strict_json import Json
from median_site.preview import samples
from median_site.preview.cards import Specimen
from team.events import Kind

_TEXT: Final = "Hello, my order **ORD-1042** arrived broken.\n\n- one vase in pieces\n- the box was open"
_FILE: Final = asdict(File("a1", "invoice.pdf", "application/pdf", 48_213))
# What any line may speak of.
_DATA: Final[dict[str, Json]] = {
    "to": "Kim", "from": "Lee", "because": "unanswered", "reason": "the model did not answer.",
    "why": "the mailbox is full.", "of": "Sam", "until": "2030-06-03T09:00:00+00:00",
}  # fmt: skip


def messages() -> Iterator[Specimen]:
    """What was said in a thread, and notes."""
    ana = {"author_id": samples.ANA.id, "author_name": samples.ANA.name}
    sam = {"author_id": samples.SAM.id, "author_name": samples.SAM.name}
    agent = {"author_name": samples.WORKSPACE.agent_name}
    yield _item("Customer", ItemKind.CUSTOMER, _TEXT, **ana)
    yield _item("Agent", ItemKind.AGENT, "I have asked the team to refund it.", **agent)
    yield _item("Demo model", ItemKind.AGENT, "I have asked the team to refund it.", model="demo model", **agent)
    yield _item("Teammate", ItemKind.TEAM, "Sam here. I have sent a new one.", **sam)
    yield _item("Note with a mention", ItemKind.NOTE, "@Kim can you check the photo?", mentions=[["kim", "Kim"]], **sam)
    yield _item("With a file", ItemKind.CUSTOMER, "Here it is.", files=[_FILE], **ana)
    yield _item("Quoting a mail", ItemKind.CUSTOMER, "Yes, please.", quoted="> Shall we refund it?", **ana)
    yield _item(
        "A mail that bounced",
        ItemKind.TEAM,
        "It left today.",
        id=1,
        undelivered="This mail bounced: 550 No such user here",
        **sam,
    )
    yield _item("Characters were replaced", ItemKind.CUSTOMER, "A ␀ in it", replaced=True, **ana)
    yield _item("Right to left", ItemKind.CUSTOMER, "مرحبا، وصل طلبي ORD-1042 مكسورًا.", **ana)
    yield _item("One long word", ItemKind.CUSTOMER, "w" * 300, **ana)


def events() -> Iterator[Specimen]:
    """Every line that a thread may have."""
    for kind in lines.LINES:
        facts = Facts("Sam", samples.WORKSPACE.agent_name, "Refund order", _DATA)
        yield _item(kind, ItemKind.LINE, lines.line(kind, facts).text, ref=kind)
    for kind in (Kind.APPROVED, Kind.DENIED):
        facts = Facts("The reviewer", samples.WORKSPACE.agent_name, "Refund order", _DATA)
        yield _item(f"{kind}, by the reviewer", ItemKind.LINE, lines.line(kind, facts).text, ref=kind)


def queue() -> Iterator[Specimen]:
    """Rows of the queue."""
    yield _row("Read")
    yield _row("Unread", unread=True)
    yield _row("Open on this page", current=True)
    yield _row("Needs approval", unread=True, waiting=1, mark="waiting", mark_label="Refund order")
    yield _row("Being checked", mark="reviewing", mark_label="Refund order")
    yield _row("Did not run", unread=True, mark="failed", mark_label="Refund order")
    yield _row("A teammate has it", handler=Handler.TEAMMATE, assignee=samples.SAM)
    yield _row("Nobody has it", handler=Handler.NOBODY)
    yield _row("With a draft", writers=[samples.SAM.id])
    yield _row("Snoozed", snoozed_until=clock.now() + timedelta(hours=3))
    yield _row("Resolved", status=Status.RESOLVED)
    yield _row("No name", customer=samples.STRANGER)
    yield _row("Long", excerpt="The vase came in eleven pieces, the box was open. " * 4)
    for channel in Channel:
        yield _row(channel.label, channel=channel)


def empty() -> Iterator[Specimen]:
    """Where there is nothing to show."""
    word = Filter(q="vase", status="any")
    for name, asked, goes_on in (
        ("Queue", Filter(), False),
        ("Queue, filtered", Filter(f="mine"), False),
        ("Queue, further on", Filter(), True),
        ("Search for a word", word, False),
        ("Search for words", Filter(q="broken vase", status="any"), False),
        ("Search, further on", word, True),
    ):
        yield Specimen(name, render("inbox/_queue_empty.html", filter=asked, goes_on=goes_on, is_new=False))
    yield Specimen("New workspace", render("inbox/_queue_empty.html", filter=Filter(), goes_on=False, is_new=True))


def toasts() -> Iterator[Specimen]:
    """What answers a press and has no place of its own: the sentence of the error, whichever it is."""
    for error in (errors.AlreadyReviewed, errors.ExpiredUnanswered):
        yield Specimen(error.code, render("site/_toast.html", message=error.message))
    yield Specimen("no connection", render("site/_toast.html", message="No connection. Nothing was done; try again."))


def _item(name: str, kind: ItemKind, text: str, **fields: Any) -> Specimen:
    return Specimen(name, fragments.item(samples.item(kind, text=text, **fields)))


def _row(
    name: str, *, unread: bool = False, current: bool = False, writers: list[str] | None = None, **fields: Any
) -> Specimen:
    thread = samples.conversation(**fields)
    return Specimen(name, fragments.row(thread, unread=unread, current=current, writers=writers or ()))
