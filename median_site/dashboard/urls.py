"""Paths of the inbox."""

from django.urls import path

from median_site.dashboard import drafts, earlier, handling, inbox, run_dialog, uploads

app_name = "inbox"
urlpatterns = [
    path("", inbox.home, name="home"),
    path("find", inbox.find, name="find"),
    path("raw/<str:run_id>", inbox.raw, name="raw"),
    path("<str:conversation_id>/", inbox.show, name="thread"),
    path("<str:conversation_id>/write", inbox.write, name="write"),
    path("<str:conversation_id>/attachments", uploads.upload, name="upload"),
    path("<str:conversation_id>/draft", drafts.draft, name="draft"),
    path("<str:conversation_id>/read", inbox.read, name="read"),
    path("<str:conversation_id>/take-over", inbox.take_over, name="take-over"),
    path("<str:conversation_id>/hand-back", inbox.hand_back, name="hand-back"),
    path("<str:conversation_id>/resolve", inbox.resolve, name="resolve"),
    path("<str:conversation_id>/close", inbox.close, name="close"),
    path("<str:conversation_id>/archive", inbox.archive, name="archive"),
    path("<str:conversation_id>/reopen", inbox.reopen, name="reopen"),
    path("<str:conversation_id>/assign", handling.assign, name="assign"),
    path("<str:conversation_id>/people", handling.people, name="people"),
    path("<str:conversation_id>/snooze", handling.snooze, name="snooze"),
    path("<str:conversation_id>/wake", inbox.wake, name="wake"),
    path("<str:conversation_id>/unread", handling.unread, name="unread"),
    path("<str:conversation_id>/earlier/", earlier.show, name="earlier"),
    path("<str:conversation_id>/earlier/<str:lesson_id>/forget", earlier.forget, name="forget"),
    path("<str:conversation_id>/slash", run_dialog.menu, name="slash"),
    path("<str:conversation_id>/tools/", run_dialog.tools, name="tools"),
    path("<str:conversation_id>/tools/<str:tool_name>/", run_dialog.show, name="run"),
    path("<str:conversation_id>/tools/<str:tool_name>/form", run_dialog.redraw, name="run-form"),
    path("<str:conversation_id>/tools/<str:tool_name>/run", run_dialog.send, name="run-send"),
]
