"""Paths of Settings > Alerts, under /settings/alerts/."""

from django.urls import path

from approvals.alerts import views
from approvals.models import Service

app_name = "alerts"
urlpatterns = [
    path("", views.page, name="page"),
    *(
        path(f"{service}/{view.__name__}", view, {"service": service}, name=f"{view.__name__}-{service}")
        for service in Service
        for view in (views.save, views.test, views.remove)
    ),
    path("own/", views.own, name="own"),
    path("own/<str:link_id>/unlink", views.unlink, name="unlink"),
    path("link/<str:code>/", views.link, name="link"),
]
