"""Paths of the REST API, under /v1/."""

from django.urls import path

from median_site.api import session_tokens

app_name = "api"
urlpatterns = [path("session-tokens", session_tokens.create, name="session_tokens")]
