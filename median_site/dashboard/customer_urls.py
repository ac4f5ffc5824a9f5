"""Paths of the customers' pages, under /customers/."""

from django.urls import path

from median_site.dashboard import customers

app_name = "customers"
urlpatterns = [
    path("", customers.page, name="page"),
    path("<str:customer_id>/", customers.show, name="detail"),
    path("lessons/<str:lesson_id>/forget", customers.forget, name="forget"),
]
