"""Paths of Settings, under /settings/."""

from django.urls import path

from team import account_views, key_views, views

app_name = "team"
urlpatterns = [
    path("", views.workspace, name="workspace"),
    path("workspace", views.change, name="change"),
    path("retention", views.retention, name="retention"),
    path("delete", views.delete, name="delete"),
    path("people/", views.people, name="people"),
    path("people/invite", views.invite, name="invite"),
    path("people/<str:teammate_id>/role", views.change_role, name="role"),
    path("people/<str:teammate_id>/remove", views.remove, name="remove"),
    path("invitations/<str:invitation_id>/withdraw", views.withdraw, name="withdraw"),
    path("keys/", key_views.page, name="keys"),
    path("keys/make", key_views.make, name="make-key"),
    path("keys/<str:key_id>/revoke", key_views.revoke, name="revoke-key"),
    path("account/", account_views.page, name="account"),
    path("account/name", account_views.rename, name="rename"),
    path("account/sessions/end-others", account_views.end_other_sessions, name="end-others"),
    path("account/sessions/<int:session_id>/end", account_views.end_session, name="end-session"),
]
