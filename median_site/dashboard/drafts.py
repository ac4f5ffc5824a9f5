"""A teammate's drafts in a thread, as the composer keeps them and asks for them."""

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_http_methods

from conversations import access, drafts
from median_site.lib import ids
from team.access import TeammateRequest, teammate_required


@require_http_methods(["GET", "HEAD", "POST"])
@teammate_required
def draft(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """All there are, by mode. Posted: `text` of a `mode`, typed over the version `base`; see conversations.drafts."""
    by = request.teammate.actor
    if request.method != "POST":
        return JsonResponse({"drafts": access.conversation(by, conversation_id).own_drafts})
    saved = drafts.save(
        conversation_id,
        by=by,
        mode=drafts.mode_of(request.POST.get("mode", "")),
        body=request.POST.get("text", ""),
        base=ids.number(request.POST.get("base", "")) or 0,
    )
    return JsonResponse({"version": saved.version, "replaced": saved.replaced})
