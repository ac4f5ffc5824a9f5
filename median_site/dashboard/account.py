"""What a teammate sets for themselves, from the rail of every page."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from team.access import TeammateRequest, same_person, teammate_required


@require_POST
@teammate_required
def theme(request: TeammateRequest) -> HttpResponse:
    """Keep the theme (light, dark, or empty for the system's) with the account, so that no script runs before paint."""
    same_person(request)
    wanted = request.POST.get("theme", "")
    user = request.teammate.user
    user.theme = wanted if wanted in {"light", "dark"} else ""
    user.save(update_fields=["theme"])
    if request.headers.get("HX-Request"):
        return HttpResponse(status=204)
    back = request.POST.get("next", "")
    return redirect(back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else "inbox:home")
