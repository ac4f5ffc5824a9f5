"""Paths of Agent > Tools, under /agent/tools/."""

from django.urls import path

from tools import views

app_name = "tools"
urlpatterns = [
    path("", views.page, name="page"),
    path("endpoints", views.add, name="add"),
    path("endpoints/<str:endpoint_id>/sync", views.sync_now, name="sync"),
    path("endpoints/<str:endpoint_id>/remove", views.remove, name="remove"),
    path("<str:tool_name>/switch", views.switch, name="switch"),
]
