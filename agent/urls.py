"""Paths of Agent, under /agent/; those of Agent > Tools are in tools.urls."""

from django.urls import path

from agent import views

app_name = "agent"
urlpatterns = [
    path("", views.page, name="page"),
    path("change", views.change, name="change"),
    path("reviewer/", views.reviewer, name="reviewer"),
]
