"""Paths of the saved replies, under /settings/replies/."""

from django.urls import path

from median_site.dashboard import saved_replies

app_name = "replies"
urlpatterns = [
    path("", saved_replies.page, name="page"),
    path("add", saved_replies.add, name="add"),
    path("<str:reply_id>/change", saved_replies.change, name="change"),
    path("<str:reply_id>/remove", saved_replies.remove, name="remove"),
]
