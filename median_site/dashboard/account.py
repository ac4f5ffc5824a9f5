"""The rail of every page: what it counts, and what a teammate sets for themselves there."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.backends.utils import csrf_input
from django.utils.functional import SimpleLazyObject
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from median_site.dashboard import queue
from median_site.lib import clock, times
from team.access import TeammateRequest, teammate_required
from team.models import Teammate


def rail(request: HttpRequest) -> Mapping[str, object]:
    """What every page of a teammate may show: the rail's counts above all. A context processor; it asks nothing unless
    a template looks."""
    teammate = getattr(request, "teammate", None)
    if not isinstance(teammate, Teammate):
        return {}
    open_ids = SimpleLazyObject(lambda: queue.counted(teammate))
    return {
        "csrf_input": SimpleLazyObject(lambda: _in_forms(request, teammate)),
        "may_manage": teammate.may_manage,
        "open_ids": open_ids,
        "unread_ids": SimpleLazyObject(lambda: open_ids["unread"]),
        "notice_ids": SimpleLazyObject(lambda: open_ids["notices"]),
        "pending_ids": SimpleLazyObject(lambda: open_ids["pending"]),
        # Taken before anything is counted: a page never claims what it has not.
        "counted_at": times.millis(clock.now()),
    }


def _in_forms(request: HttpRequest, teammate: Teammate) -> str:
    """Django's token, and whom the page was made for (team.access). Once for all forms of a page, since
    Django would mask the token anew for each."""
    return format_html('{}<input type="hidden" name="as" value="{}">', csrf_input(request), teammate.id)


@require_POST
@teammate_required
def theme(request: TeammateRequest) -> HttpResponse:
    """Keep the theme (light, dark, or empty for the system's) with the account, so that no script runs before paint."""
    wanted = request.POST.get("theme", "")
    user = request.teammate.user
    user.theme = wanted if wanted in {"light", "dark"} else ""
    user.save(update_fields=["theme"])
    if request.htmx:
        return HttpResponse(status=204)
    back = request.POST.get("next", "")
    is_path = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return redirect(back if is_path else "inbox:home")
