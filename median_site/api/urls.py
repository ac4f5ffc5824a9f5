"""Paths of the REST API, under /v1/."""

from median_site.api.app import api

urlpatterns = api.urls[0]
app_name = api.urls[1]
