"""Where Discord tells of what customers do, under /channels/discord/. A signature opens it, no session."""

from django.urls import path

from discord import hooks

app_name = "discord-hooks"
urlpatterns = [path("<str:workspace_id>/", hooks.interactions, name="interactions")]
