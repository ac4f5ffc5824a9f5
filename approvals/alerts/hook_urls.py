"""Where the services send presses, under /alerts/. A signature opens them, no session."""

from django.urls import path

from approvals.alerts import hooks

app_name = "alert-hooks"
urlpatterns = [
    path("slack/<str:workspace_id>/", hooks.slack, name="slack"),
    path("discord/<str:workspace_id>/", hooks.discord, name="discord"),
]
