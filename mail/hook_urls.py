"""Paths under /channels/email/: a mail service's webhooks, where one is set up, and each workspace's own address."""

from django.conf import settings
from django.urls import path

from mail import hook_views

app_name = "mail-hooks"
urlpatterns = [
    # Without the secret some services' webhooks would be open to anybody.
    *([path("services/<path:path>", hook_views.service)] if settings.ANYMAIL.get("WEBHOOK_SECRET") else []),
    path("<str:token>", hook_views.raw, name="raw"),
]
