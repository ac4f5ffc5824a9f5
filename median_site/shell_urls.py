"""Paths of the installation itself (see median_site.shell), and where the API's begin."""

from django.urls import path

from median_site import shell
from median_site.api import reference
from median_site.api.app import api

urlpatterns = [
    path("healthz", shell.healthz, name="healthz"),
    path("robots.txt", shell.robots, name="robots"),
    path("me.css", shell.me, name="me_css"),
    path("w/<slug:slug>/.well-known/jwks.json", shell.jwks, name="jwks"),
    path("v1/docs", reference.page, name="api-reference"),
    path("v1/", api.urls),
]
