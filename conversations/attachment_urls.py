"""The path of a file, under /attachments/."""

from django.urls import path

from conversations import attachment_views

app_name = "attachments"
urlpatterns = [path("<str:attachment_id>/<str:file_name>", attachment_views.show, name="show")]
