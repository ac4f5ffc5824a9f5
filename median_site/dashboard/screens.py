"""Paths of the dashboard's pages beside the inbox."""

from django.urls import path

from median_site.dashboard import approvals, assistant, home, logs, notices

app_name = "dashboard"
urlpatterns = [
    path("", home.page, name="home"),
    path("approvals/", approvals.page, name="approvals"),
    path("approvals/together/", approvals.ask, name="ask"),
    path("approvals/together/approve", approvals.approve, name="approve-together"),
    path("approvals/together/deny", approvals.deny, name="deny-together"),
    path("notifications/", notices.page, name="notices"),
    path("notifications/read", notices.read_all, name="read-notices"),
    path("notifications/<int:notice_id>/read", notices.read, name="read-notice"),
    path("assistant/", assistant.page, name="assistant"),
    path("assistant/ask", assistant.ask, name="assistant-ask"),
    path("assistant/clear", assistant.clear, name="assistant-clear"),
    path("assistant/<int:exchange_id>/again", assistant.again, name="assistant-again"),
    path("logs/", logs.page, name="logs"),
    path("logs/export.<str:form>", logs.download, name="export"),
]
