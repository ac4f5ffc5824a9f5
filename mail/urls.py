"""Paths of Settings > Email, under /settings/email/."""

from django.urls import path

from mail import views

app_name = "mail"
urlpatterns = [
    path("", views.page, name="page"),
    path("save", views.save, name="save"),
    path("renew", views.renew, name="renew"),
    path("remove", views.remove, name="remove"),
    path("test", views.test, name="test"),
    path("mailbox/save", views.save_mailbox, name="mailbox-save"),
    path("mailbox/check", views.check_mailbox, name="mailbox-check"),
    path("mailbox/remove", views.remove_mailbox, name="mailbox-remove"),
]
