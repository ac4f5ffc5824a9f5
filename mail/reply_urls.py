"""Paths of replies by mail, under /mail/, for every teammate."""

from django.urls import path

from mail import views

app_name = "mail-replies"
urlpatterns = [path("replies/<int:item_id>/retry", views.retry, name="retry")]
