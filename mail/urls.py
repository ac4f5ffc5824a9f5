"""Paths of Settings > Email, under /settings/email/."""

from django.urls import path

from mail import views

app_name = "mail"
urlpatterns = [
    path("", views.page, name="page"),
    path("save", views.save, name="save"),
    path("renew", views.renew, name="renew"),
    path("remove", views.remove, name="remove"),
]
