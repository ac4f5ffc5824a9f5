"""Paths of Agent > Tools, under /agent/tools/."""

from django.urls import include, path

from tools import tool_views, views

app_name = "tools"
urlpatterns = [
    path("", views.page, name="page"),
    path("signing/rotate", views.rotate_key, name="rotate_key"),
    path("endpoints", views.add, name="add"),
    path("endpoints/<str:endpoint_id>/", views.endpoint, name="endpoint"),
    path("endpoints/<str:endpoint_id>/sync", views.sync_now, name="sync"),
    path("endpoints/<str:endpoint_id>/url", views.change_url, name="change_url"),
    path("endpoints/<str:endpoint_id>/secret", views.rotate_secret, name="rotate_secret"),
    path("endpoints/<str:endpoint_id>/secret/stop-old", views.stop_old_secret, name="stop_old_secret"),
    path("endpoints/<str:endpoint_id>/remove", views.remove, name="remove"),
    path("http/", include("tools.http_urls")),
    path("<str:tool_name>/", tool_views.tool, name="tool"),
    path("<str:tool_name>/switch", tool_views.switch, name="switch"),
    path("<str:tool_name>/risk", tool_views.rate, name="rate"),
    path("<str:tool_name>/test", tool_views.test, name="test"),
]
