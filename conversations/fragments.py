"""The pieces of a thread and of the queue that this app owns, each by one function for page, answer and push."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

from conversations import attachment_links
from conversations.models import Conversation, Customer, Item, ItemKind
from median_site.lib import times
from median_site.lib.fragments import render
from median_site.lib.presence import Person
from team.events import Kind

_SYMBOLS: Final = {
    Kind.APPROVAL_REQUESTED: "signoff",
    Kind.APPROVAL_REVIEWING: "review",
    Kind.APPROVAL_PASSED_ON: "review",
    Kind.APPROVAL_UNCHECKED: "review",
    Kind.APPROVED: "approve",
    Kind.DENIED: "denied",
    Kind.EXPIRED: "expired",
    Kind.RUN_STUCK: "failed",
    Kind.TURN_FAILED: "failed",
    Kind.EMAIL_AUTOMATIC: "email",
    Kind.EMAIL_TOO_MANY: "warn",
    Kind.EMAIL_BOUNCED: "failed",
    Kind.EMAIL_FAILED: "failed",
    Kind.EMAIL_COMPLAINED: "warn",
    Kind.EMAIL_RETRIED: "email",
    Kind.EMAIL_FILES_LEFT: "attach",
    Kind.DISCORD_FAILED: "failed",
    Kind.DISCORD_FILES_LEFT: "attach",
    Kind.TAKEN_OVER: "user",
    Kind.HANDED_BACK: "user",
    Kind.ASSIGNED: "user",
    Kind.UNASSIGNED: "user",
    Kind.ASSIGNEE_LEFT: "user",
    Kind.SNOOZED: "clock",
    Kind.WOKEN: "clock",
    Kind.SNOOZE_OVER: "clock",
    Kind.RESOLVED: "resolve",
    Kind.CLOSED: "close",
    Kind.ARCHIVED: "archive",
    Kind.REOPENED: "inbox",
}


def place(item: Item) -> Markup:
    """The attributes by which scripts find an item of a thread, and know its order and its day."""
    order = f'data-number="{item.number}" data-version="{item.version}" data-day="{times.day(item.created_at)}"'
    return Markup(f'id="{escape(item.element_id)}" {order}')  # noqa: S704  # the rest is nobody's text


def item(item: Item) -> Markup:
    """A message, a note or a line; cards and runs are drawn by the apps that own them."""
    if item.kind == ItemKind.LINE:
        reviewer = item.ref in {Kind.APPROVED, Kind.DENIED} and item.text.startswith("The reviewer ")
        symbol = "review" if reviewer else _SYMBOLS.get(Kind(item.ref), "info")
        return render("conversations/_line.html", item=item, place=place(item), symbol=symbol)
    files = [attachment_links.for_team(file) for file in item.sent]
    return render("conversations/_message.html", item=item, place=place(item), files=files)


def row(
    conversation: Conversation,
    *,
    unread: bool,
    current: bool = False,
    name: Markup | None = None,
    said: str = "",
    at: str = "",
    writers: Sequence[str] = (),
) -> Markup:
    """A row of the queue. Needs customer, assignee and workspace selected; `current` only on a page that shows it.

    `writers` are the ids of those who have a draft in it: each session's own rule shows the word to them alone. `name`
    and `said` stand for the customer's name and the newest message, with what a search found in them; `at` is the id of
    the thread's element that says it.
    """
    return render(
        "conversations/_row.html",
        conversation=conversation,
        unread=unread,
        current=current,
        name=name or conversation.customer.display_name,
        said=said or conversation.excerpt,
        at=at,
        writers=writers,
    )


def thread_head(conversation: Conversation) -> Markup:
    """Who the thread is with, who has it, and what can be done with it as a whole."""
    return render("conversations/_thread_head.html", conversation=conversation)


def presence(people: Sequence[Person], *, typing_customer: Customer | None = None) -> Markup:
    """Who is in the thread right now. Everybody is in it; each session's own rule hides the one who looks."""
    return render("conversations/_presence.html", people=people, customer=typing_customer)


def thread_hint(conversation: Conversation) -> Markup:
    """The line under the composer: what sending a reply will do."""
    return render("conversations/_thread_hint.html", conversation=conversation)


def thread_notes(notes: Sequence[Item], *, version: int) -> Markup:
    """The newest notes, for the details panel; `version` is the conversation's."""
    return render("conversations/_thread_notes.html", notes=notes, version=version)
