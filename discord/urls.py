"""Paths of Settings > Discord, under /settings/discord/."""

from django.urls import path

from discord import views

app_name = "discord"
urlpatterns = [
    path("", views.page, name="page"),
    path("save", views.save, name="save"),
    path("test", views.test, name="test"),
    path("remove", views.remove, name="remove"),
]
