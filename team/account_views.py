"""Settings > Your account: what one is called, how one signs in, and where. Nobody else's are here to be seen."""

from allauth.mfa.models import Authenticator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from team import roster, sessions
from team.access import TeammateRequest, teammate_required


@require_safe
@teammate_required
def page(request: TeammateRequest) -> HttpResponse:
    kinds = list(Authenticator.objects.filter(user_id=request.teammate.user_id).values_list("type", flat=True))
    context = {
        "sessions": sessions.listed(request.teammate.user, current=request.session.session_key or ""),
        "has_app": Authenticator.Type.TOTP in kinds,
        "passkeys": kinds.count(Authenticator.Type.WEBAUTHN),
        "has_codes": Authenticator.Type.RECOVERY_CODES in kinds,
    }
    return render(request, "team/account.html", context)


@require_POST
@teammate_required
def rename(request: TeammateRequest) -> HttpResponse:
    roster.rename(by=request.teammate.actor, name=request.POST.get("name", ""))
    return redirect("team:account")


@require_POST
@teammate_required
def end_session(request: TeammateRequest, session_id: int) -> HttpResponse:
    sessions.end(request.teammate.user, session_id)
    return redirect("team:account")


@require_POST
@teammate_required
def end_other_sessions(request: TeammateRequest) -> HttpResponse:
    sessions.end_others(request.teammate.user, current=request.session.session_key or "")
    return redirect("team:account")
