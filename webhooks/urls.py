"""Paths of Settings > Webhooks, under /settings/webhooks/."""

from django.urls import path

from webhooks import views

app_name = "webhooks"
urlpatterns = [
    path("", views.page, name="page"),
    path("add", views.add, name="add"),
    path("<str:webhook_id>/", views.detail, name="detail"),
    path("<str:webhook_id>/change", views.change, name="change"),
    path("<str:webhook_id>/switch", views.switch, name="switch"),
    path("<str:webhook_id>/rotate-secret", views.rotate_secret, name="rotate-secret"),
    path("<str:webhook_id>/test", views.test, name="test"),
    path("<str:webhook_id>/remove", views.remove, name="remove"),
    path("deliveries/<str:delivery_id>/replay", views.replay, name="replay"),
]
