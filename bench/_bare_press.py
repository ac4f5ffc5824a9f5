"""The least that a press can cost: Django's session and CSRF checks, one conditional update, one short answer."""

from django.contrib.auth.decorators import login_required
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import path

from median_site.urls import urlpatterns as pages


def update(sql: str, approval_id: str) -> bool:
    """One statement and its commit; whether it moved the row."""
    with connection.cursor() as cursor:
        cursor.execute(sql, [approval_id])
        return bool(cursor.rowcount)


def decide(approval_id: str) -> bool:
    return update(
        "update approvals_toolapproval set state = 'executing', decided_at = now()"
        " where id = %s and state in ('reviewing', 'pending') and expires_at > now()",
        approval_id,
    )


def claim(approval_id: str) -> bool:
    return update(
        "update approvals_toolapproval set told_in_turn = 'claimed' where id = %s and told_in_turn = ''", approval_id
    )


def settle(approval_id: str) -> bool:
    return update(
        "update approvals_toolapproval set state = 'completed' where id = %s and state = 'executing'", approval_id
    )


@login_required
def press(request: HttpRequest, approval_id: str) -> HttpResponse:
    return HttpResponse("decided" if decide(approval_id) else "too late")


urlpatterns = [*pages, path("bare/<str:approval_id>", press)]
