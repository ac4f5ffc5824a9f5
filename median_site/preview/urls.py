"""Paths of the preview."""

from django.urls import path

from median_site.preview import views

app_name = "preview"
urlpatterns = [
    path("", views.page, name="home"),
    path("errors/<int:status>/", views.error, name="error"),
    path("<slug:group>/", views.page, name="group"),
]
