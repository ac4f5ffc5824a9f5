"""Settings > Email, for owners and admins. A press answers with the page again, of which htmx takes the part."""

from typing import Final

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from mail import channels
from mail.models import EmailMessage, Kind, MailState
from team.access import TeammateRequest, manager_required, require_manager, teammate_required
from team.views import frame

_ASIDE: Final = 20


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    require_manager(request.teammate)
    channel = channels.of(request.teammate.workspace_id)
    path = reverse("mail-hooks:raw", args=[channels.token_of(channel)]) if channel else ""
    context = {
        "channel": channel,
        "hand_in": f"{settings.MEDIAN_URL}{path}",
        "services": bool(settings.ANYMAIL.get("WEBHOOK_SECRET")),
        "services_url": f"{settings.MEDIAN_URL}/channels/email/services/",
        "aside": _aside(request.teammate.workspace_id),
    }
    return render(request, "mail/page.html", frame(request, "email") | context)


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


def _aside(workspace_id: str) -> list[EmailMessage]:
    """The newest mails that nobody answers and replies that were given up."""
    rows = EmailMessage.objects.filter(workspace_id=workspace_id)
    kept = rows.exclude(kind=Kind.MESSAGE) | rows.filter(state=MailState.FAILED)
    return list(kept.order_by("-created_at", "-id")[:_ASIDE])
