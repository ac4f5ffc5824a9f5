"""The least that a page of these rows can cost: what `startproject` puts around every page, session and user, one query
for each kind of row, one Jinja2 template with one form. A thread's page has the thread, its items and its requests too.
"""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template import engines
from django.template.backends.utils import csrf_input
from django.urls import path

from approvals.models import ToolApproval
from conversations.models import Conversation, Item
from median_site.urls import urlpatterns as pages

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROWS = """<!doctype html><title>Inbox</title><form method="post">{{ csrf }}<button>Sign out</button></form>
<ul>{% for row in rows %}
<li><a href="/inbox/{{ row.id }}/"><b>{{ row.customer.name }}</b> <time>{{ row.last_at }}</time>
<span>{{ row.excerpt }}</span> {{ row.status }} {{ row.channel }} {{ row.handler }} {{ row.mark }}</a></li>
{% endfor %}</ul>"""
ITEMS = """<h1>{{ conversation.customer.name }}</h1><ol>{% for item in items %}
<li><b>{{ item.author_name }}</b> <time>{{ item.created_at }}</time> {{ item.kind }} <p>{{ item.text }}</p></li>
{% endfor %}</ol>{% for request in requests %}<p>{{ request.tool_label }} {{ request.state }} {{ request.input }}</p>
{% endfor %}"""
JINJA = engines["jinja2"]


def _rows(workspace_id: str) -> list[Conversation]:
    rows = Conversation.objects.filter(workspace_id=workspace_id, status="open").select_related("customer")
    return list(rows.order_by("-last_at", "-id")[:30])


_queue, _thread = JINJA.from_string(ROWS), JINJA.from_string(ROWS + ITEMS)


@login_required
def queue(request: HttpRequest, workspace_id: str) -> HttpResponse:
    return HttpResponse(_queue.render({"rows": _rows(workspace_id), "csrf": csrf_input(request)}))


@login_required
def thread(request: HttpRequest, workspace_id: str, conversation_id: str) -> HttpResponse:
    rows = Conversation.objects.filter(workspace_id=workspace_id).select_related("customer")
    conversation = get_object_or_404(rows, id=conversation_id)
    here = {"workspace_id": workspace_id, "conversation": conversation}
    context = {
        "rows": _rows(workspace_id),
        "csrf": csrf_input(request),
        "conversation": conversation,
        "items": list(Item.objects.filter(**here).order_by("-number")[:50])[::-1],
        "requests": list(ToolApproval.objects.filter(**here)),
    }
    return HttpResponse(_thread.render(context))


urlpatterns = [*pages, path("bare/<workspace_id>/", queue), path("bare/<workspace_id>/<conversation_id>/", thread)]
