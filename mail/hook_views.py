"""Where mail is handed in over HTTP: raw, by whoever knows the token. The sender tries again unless it gets 2xx."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from mail import channels, inbound, parsing


@csrf_exempt
@require_POST
def raw(request: HttpRequest, token: str) -> HttpResponse:
    """The body is one mail as RFC 5322 writes it; `recipient` in the query says to whom it was delivered.

    204 for a mail that is kept, also for one that was here before; 413 for one above 25 MB.
    """
    channel = channels.by_token(token)
    mail = request.read(parsing.SIZE_LIMIT + 1)  # not `body`, which has the limit of forms
    inbound.take(mail, channel=channel, recipient=request.GET.get("recipient", "")[:320])
    return HttpResponse(status=204)
