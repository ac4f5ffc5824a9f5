"""Paths of Settings > Widget."""

from django.urls import path

from conversations.channels import widget_settings_views

app_name = "widget-settings"
urlpatterns = [
    path("", widget_settings_views.page, name="page"),
    path("change", widget_settings_views.change, name="change"),
]
