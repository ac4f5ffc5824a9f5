"""The installation's paths as they are where a mail service is set up."""

from django.urls import include, path

from median_site import urls

urlpatterns = [path("channels/email/services/", include("anymail.urls")), *urls.urlpatterns]
