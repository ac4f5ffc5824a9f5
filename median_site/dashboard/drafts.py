"""A teammate's drafts in a thread, as the composer keeps them and asks for them."""

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_http_methods

from conversations import access, drafts
from team.access import TeammateRequest, teammate_required


@require_http_methods(["GET", "HEAD", "POST"])
@teammate_required
def draft(request: TeammateRequest, conversation_id: str) -> HttpResponse:
    """All there are, by mode. Posted: `text` of a `mode`, typed over the version `base`; see conversations.drafts."""
    by = request.teammate.actor
    if request.method != "POST":
        return JsonResponse({"drafts": access.conversation(by, conversation_id).own_drafts})
    base = request.POST.get("base", "")
    saved = drafts.save(
        conversation_id,
        by=by,
        mode=drafts.mode_of(request.POST.get("mode", "")),
        body=request.POST.get("text", ""),
        base=int(base) if base.isdecimal() and len(base) < 19 else 0,
    )
    return JsonResponse({"version": saved.version, "replaced": saved.replaced})
