"""The least that a page of these rows can cost: Django's session and user, one query, one Jinja2 template."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path

from conversations.models import Conversation, Item
from median_site.urls import urlpatterns as pages

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
ROWS = """<!doctype html><title>Inbox</title><ul>{% for row in rows %}
<li><a href="/inbox/{{ row.id }}/"><b>{{ row.customer.name }}</b> <time>{{ row.last_at }}</time>
<span>{{ row.excerpt }}</span> {{ row.status }} {{ row.channel }} {{ row.handler }} {{ row.mark }}</a></li>
{% endfor %}</ul>"""
ITEMS = """<ol>{% for item in items %}
<li><b>{{ item.author_name }}</b> <time>{{ item.created_at }}</time> {{ item.kind }} <p>{{ item.text }}</p></li>
{% endfor %}</ol>"""
JINJA = engines["jinja2"]


def _rows(workspace_id: str) -> list[Conversation]:
    rows = Conversation.objects.filter(workspace_id=workspace_id, status="open").select_related("customer")
    return list(rows.order_by("-last_at", "-id")[:30])


_queue, _thread = JINJA.from_string(ROWS), JINJA.from_string(ROWS + ITEMS)


@login_required
def queue(request: HttpRequest, workspace_id: str) -> HttpResponse:
    return HttpResponse(_queue.render({"rows": _rows(workspace_id)}))


@login_required
def thread(request: HttpRequest, workspace_id: str, conversation_id: str) -> HttpResponse:
    items = list(
        Item.objects.filter(workspace_id=workspace_id, conversation_id=conversation_id).order_by("-number")[:50]
    )[::-1]
    return HttpResponse(_thread.render({"items": items, "rows": _rows(workspace_id)}))


urlpatterns = [*pages, path("bare/<workspace_id>/", queue), path("bare/<workspace_id>/<conversation_id>/", thread)]
