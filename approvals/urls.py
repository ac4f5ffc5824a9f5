"""Paths of decisions."""

from django.urls import path

from approvals import views

app_name = "approvals"
urlpatterns = [
    path("<str:approval_id>/", views.detail, name="detail"),
    path("<str:approval_id>/approve", views.approve, name="approve"),
    path("<str:approval_id>/deny", views.deny, name="deny"),
]
