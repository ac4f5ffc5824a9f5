"""/v1/webhooks, as programs use it."""

from collections.abc import Callable

import pytest

from median_site.lib import secrets
from team import chain
from team.models import ApiAnswer, Event
from tests.api.conftest import Program
from tests.world import World
from webhooks.models import Webhook, WebhookDelivery

URL = "http://127.0.0.1:9/hook"


def test_a_webhook_from_its_making_to_its_end(world: World, program: Program) -> None:
    answer = program.post("/webhooks", {"url": URL, "kinds": ["run.failed", "approval.requested", "run.failed"]})
    made = answer.json()
    secret = made.pop("secret")
    assert answer.status_code == 201
    assert secret.startswith("whsec_")
    row = Webhook.objects.get()
    assert secret not in row.sealed_secret
    assert secrets.unseal(row.sealed_secret) == secret
    assert made == {
        "id": row.id, "url": URL, "kinds": ["approval.requested", "run.failed"], "enabled": True, "off_because": None,
        "failing_since": None, "old_secret_until": None, "created_at": made["created_at"],
    }  # fmt: skip
    assert program.get("/webhooks").json() == {"data": [made], "next_cursor": None}
    assert program.get(f"/webhooks/{row.id}").json() == made

    changed = program.patch(f"/webhooks/{row.id}", {"kinds": [], "enabled": False}).json()
    assert (changed["kinds"], changed["enabled"], changed["off_because"], changed["url"]) == ([], False, "people", URL)
    assert program.post(f"/webhooks/{row.id}/test").status_code == 409
    assert program.patch(f"/webhooks/{row.id}", {"enabled": True}).json()["enabled"] is True
    rotated = program.post(f"/webhooks/{row.id}/rotate-secret").json()
    assert rotated["secret"] not in ("", secret)
    assert rotated["old_secret_until"] is not None

    assert program.delete(f"/webhooks/{row.id}").status_code == 204
    assert program.delete(f"/webhooks/{row.id}").status_code == 404
    assert Webhook.objects.get().sealed_secret == ""
    told = Event.objects.filter(kind__startswith="webhook.").order_by("id").values_list("kind", "data")
    assert list(told) == [
        ("webhook.added", {"host": "127.0.0.1:9"}),
        ("webhook.changed", {"host": "127.0.0.1:9", "what": "kinds"}),
        ("webhook.changed", {"host": "127.0.0.1:9", "what": "off"}),
        ("webhook.changed", {"host": "127.0.0.1:9", "what": "on"}),
        ("webhook.changed", {"host": "127.0.0.1:9", "what": "secret"}),
        ("webhook.removed", {"host": "127.0.0.1:9"}),
    ]


def test_a_repeated_post_gets_the_same_secret_which_is_kept_nowhere_in_the_open(program: Program) -> None:
    first = program.post("/webhooks", {"url": URL}, **{"Idempotency-Key": "a"})
    again = program.post("/webhooks", {"url": URL}, **{"Idempotency-Key": "a"})
    assert again.json() == first.json()
    assert Webhook.objects.count() == 1
    assert first.json()["secret"] not in ApiAnswer.objects.get().body


def test_deliveries_are_listed_page_by_page_and_replayed(world: World, program: Program) -> None:
    webhook = program.post("/webhooks", {"url": URL, "kinds": ["tool.switched"]}).json()
    for _ in range(3):
        program.post("/tools/refundOrder/disable")
        program.post("/tools/refundOrder/enable")
    chain.link_all()
    tested = program.post(f"/webhooks/{webhook['id']}/test")
    assert (tested.status_code, tested.json()["kind"], tested.json()["event_id"]) == (202, "webhook.test", None)

    first = program.get(f"/webhooks/{webhook['id']}/deliveries?limit=4").json()
    second = program.get(f"/webhooks/{webhook['id']}/deliveries?limit=4&cursor={first['next_cursor']}").json()
    rows = [*first["data"], *second["data"]]
    assert [row["kind"] for row in rows] == ["webhook.test", *["tool.switched"] * 6]
    assert second["next_cursor"] is None
    assert rows[1] == {
        "id": rows[1]["id"], "webhook_id": webhook["id"], "event_id": Event.objects.latest("id").id,
        "kind": "tool.switched", "status": "waiting", "attempts": 0, "last_attempt_at": None,
        "next_attempt_at": rows[1]["next_attempt_at"], "answer_status": None, "answer": None, "error": None,
        "created_at": rows[1]["created_at"],
    }  # fmt: skip
    WebhookDelivery.objects.filter(id=rows[1]["id"]).update(state="failed", due_at=None, attempts=11)
    again = program.post(f"/webhook-deliveries/{rows[1]['id']}/replay")
    assert (again.status_code, again.json()["status"], again.json()["attempts"]) == (202, "waiting", 0)
    assert program.get(f"/webhook-deliveries/{rows[1]['id']}").json() == again.json()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "ftp://example.com"}, "url"),
        ({"url": "http://192.0.2.1/hook"}, "url"),
        ({"url": URL, "kinds": ["run.exploded"]}, "kinds"),
        ({"url": URL, "kind": []}, "kind"),
        ({}, "url"),
    ],
)
def test_what_cannot_be_kept_names_its_field(body: object, field: str, program: Program) -> None:
    answer = program.post("/webhooks", body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert not Webhook.objects.exists()


def test_a_workspace_has_at_most_twenty(program: Program) -> None:
    for _ in range(20):
        assert program.post("/webhooks", {"url": URL}).status_code == 201
    assert program.post("/webhooks", {"url": URL}).json()["error"]["code"] == "too_many_webhooks"


def test_another_scope_sees_none_of_it(program: Program, program_with: Callable[..., Program]) -> None:
    made = program.post("/webhooks", {"url": URL}).json()
    reader = program_with("read", "run", "decide", "sessions")
    for path in ("/webhooks", f"/webhooks/{made['id']}", f"/webhooks/{made['id']}/deliveries"):
        assert reader.get(path).status_code == 403
