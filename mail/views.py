"""Settings > Email, for owners and admins. A press answers with the page again, of which htmx takes the part."""

from typing import Final

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from mail import channels, delivery, mailboxes, polling, sending
from mail.models import EmailMessage, Kind, MailState, Security
from team.access import TeammateRequest, manager_required, teammate_required

_ASIDE: Final = 20


@require_safe
@manager_required
def page(request: TeammateRequest) -> HttpResponse:
    return _page(request)


@require_POST
@manager_required
def save(request: TeammateRequest) -> HttpResponse:
    channels.save(
        by=request.teammate.actor, address=request.POST.get("address", ""), name=request.POST.get("name", ""),
        signs_replies=request.POST.get("signs_replies") == "1",
    )  # fmt: skip
    return redirect("mail:page")


@require_POST
@manager_required
def renew(request: TeammateRequest) -> HttpResponse:
    channels.renew_token(by=request.teammate.actor)
    return redirect("mail:page")


@require_POST
@manager_required
def remove(request: TeammateRequest) -> HttpResponse:
    channels.remove(by=request.teammate.actor)
    return redirect("mail:page")


@require_POST
@manager_required
def test(request: TeammateRequest) -> HttpResponse:
    """Send a mail to whoever presses, and show what the mail server said."""
    to = request.teammate.user.email
    error = sending.test(channels.mine(request.teammate.actor), to=to)
    return _page(request, tested=to, test_error=error)


@require_POST
@manager_required
def save_mailbox(request: TeammateRequest) -> HttpResponse:
    """Keep it, and look into it at once: whether that works is what one wants to know."""
    names = ("host", "port", "security", "username", "password", "folder")
    mailboxes.save(by=request.teammate.actor, **{name: request.POST.get(name, "") for name in names})
    return _looked(request)


@require_POST
@manager_required
def check_mailbox(request: TeammateRequest) -> HttpResponse:
    return _looked(request)


@require_POST
@manager_required
def remove_mailbox(request: TeammateRequest) -> HttpResponse:
    mailboxes.remove(by=request.teammate.actor)
    return redirect("mail:page")


@require_POST
@teammate_required
def retry(request: TeammateRequest, item_id: int) -> HttpResponse:
    """From a thread: its push shows what came of it."""
    conversation = delivery.retry(item_id, by=request.teammate.actor)
    if request.htmx:
        return HttpResponse(status=204)
    return redirect("inbox:thread", conversation.id)


def _looked(request: TeammateRequest) -> HttpResponse:
    claimed = mailboxes.claim(by=request.teammate.actor)
    return _page(request, look=polling.look(claimed) if claimed else None, is_busy=claimed is None)


def _page(request: TeammateRequest, **shown: object) -> HttpResponse:
    """The page; `shown` is what came of a press."""
    channel = channels.of(request.teammate.workspace_id)
    path = reverse("mail-hooks:raw", args=[channels.token_of(channel)]) if channel else ""
    context = {
        "channel": channel,
        "mailbox": mailboxes.of(channel),
        "securities": Security.choices,
        "hand_in": f"{settings.MEDIAN_URL}{path}",
        "services": bool(settings.ANYMAIL.get("WEBHOOK_SECRET")),
        "services_url": f"{settings.MEDIAN_URL}/channels/email/services/",
        "sends": sending.leaves(),
        "aside": _aside(request.teammate.workspace_id),
        **dict.fromkeys(("tested", "test_error", "look", "is_busy")),
    }
    return render(request, "mail/page.html", context | shown)


def _aside(workspace_id: str) -> list[EmailMessage]:
    """The newest mails that nobody answers and replies that were given up."""
    rows = EmailMessage.objects.filter(workspace_id=workspace_id)
    kept = rows.exclude(kind=Kind.MESSAGE) | rows.filter(state=MailState.FAILED)
    return list(kept.order_by("-created_at", "-id")[:_ASIDE])
