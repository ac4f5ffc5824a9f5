"""The installation's paths as they are where a mail service is set up."""

from django.urls import path

from mail import hook_views
from median_site import urls

urlpatterns = [path("channels/email/services/<path:path>", hook_views.service), *urls.urlpatterns]
