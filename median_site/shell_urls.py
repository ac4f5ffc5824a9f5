"""Paths of the installation itself (see median_site.shell), and where the API's begin."""

from django.urls import include, path

from median_site import shell

urlpatterns = [
    path("healthz", shell.healthz, name="healthz"),
    path("robots.txt", shell.robots, name="robots"),
    path("me.css", shell.me, name="me_css"),
    path("w/<slug:slug>/.well-known/jwks.json", shell.jwks, name="jwks"),
    path("v1/", include("median_site.api.urls")),
]
