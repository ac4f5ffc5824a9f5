"""Paths of the customer's widget, under /widget/."""

from django.urls import path

from conversations.channels import widget_views

app_name = "widget"
urlpatterns = [
    path("<slug:slug>/", widget_views.page, name="page"),
    path("<slug:slug>/anonymous", widget_views.anonymous, name="anonymous"),
    path("<slug:slug>/thread", widget_views.thread, name="thread"),
    path("<slug:slug>/attachments", widget_views.attach, name="attachments"),
    path("<slug:slug>/messages", widget_views.messages, name="messages"),
]
