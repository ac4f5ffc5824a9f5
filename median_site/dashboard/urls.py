"""Paths of the inbox."""

from django.urls import path

from median_site.dashboard import inbox

app_name = "inbox"
urlpatterns = [
    path("", inbox.home, name="home"),
    path("raw/<str:run_id>", inbox.raw, name="raw"),
    path("<str:conversation_id>/", inbox.show, name="thread"),
    path("<str:conversation_id>/write", inbox.write, name="write"),
    path("<str:conversation_id>/read", inbox.read, name="read"),
    path("<str:conversation_id>/take-over", inbox.take_over, name="take-over"),
    path("<str:conversation_id>/hand-back", inbox.hand_back, name="hand-back"),
    path("<str:conversation_id>/resolve", inbox.resolve, name="resolve"),
    path("<str:conversation_id>/close", inbox.close, name="close"),
    path("<str:conversation_id>/archive", inbox.archive, name="archive"),
    path("<str:conversation_id>/reopen", inbox.reopen, name="reopen"),
]
