"""Paths of HTTP tools, under /agent/tools/http/."""

from django.urls import path

from tools import http_views

urlpatterns = [
    path("new", http_views.new, name="http_new"),
    path("drafts", http_views.save, name="http_add"),
    path("drafts/<str:draft_id>/", http_views.edit, name="http_edit"),
    path("drafts/<str:draft_id>/save", http_views.save, name="http_save"),
    path("drafts/<str:draft_id>/remove", http_views.remove, name="http_remove"),
    path("differences", http_views.differences, name="http_differences"),
    path("publish", http_views.publish, name="http_publish"),
    path("versions/", http_views.versions, name="http_versions"),
    path("versions/<int:number>/", http_views.version, name="http_version"),
    path("versions/<int:number>/restore", http_views.restore, name="http_restore"),
    path("import", http_views.import_form, name="http_import"),
    path("import/document", http_views.import_document, name="http_import_document"),
]
