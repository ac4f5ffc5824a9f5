"""Paths of Settings > Notifications, under /settings/notifications/."""

from django.urls import path

from notifications import views

app_name = "notifications"
urlpatterns = [
    path("", views.page, name="page"),
    path("save", views.save, name="save"),
    path("browsers", views.add_browser, name="add"),
    path("browsers/<str:browser_id>/remove", views.remove_browser, name="remove"),
    path("test", views.test, name="test"),
    path("stop/<str:token>", views.stop, name="stop"),
]
