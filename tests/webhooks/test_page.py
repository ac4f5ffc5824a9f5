"""Settings > Webhooks: owners and admins add, look, replay and remove; the secret is shown once."""

import re
from collections.abc import Callable

from django.test import Client

from median_site.lib import clock
from team import chain
from team.models import Teammate
from tests.world import World
from webhooks import subscriptions
from webhooks.models import Webhook, WebhookDelivery

SignIn = Callable[[Teammate], Client]
URL = "http://127.0.0.1:9/hook"


def test_a_webhook_from_its_making_to_its_end(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    assert "No webhooks yet" in sam.get("/settings/webhooks/").content.decode()
    made = sam.post("/settings/webhooks/add", {"url": URL, "kinds": ["run.failed"]}).content.decode()
    [secret] = re.findall(r"whsec_[A-Za-z0-9+/=]{44}", made)
    webhook = Webhook.objects.get()
    at = f"/settings/webhooks/{webhook.id}/"
    shown = sam.get(at).content.decode()
    assert secret not in shown
    assert "Nothing was sent yet" in shown
    assert f'<a href="{at}">{URL}</a>' in sam.get("/settings/webhooks/").content.decode()

    assert sam.post(f"{at}test").headers["Location"] == at
    delivery = WebhookDelivery.objects.get()
    WebhookDelivery.objects.update(state="failed", due_at=None, attempts=11, answer_status=500, answer="<b>Broken",
                                   error="It answered 500.", tried_at=clock.now())  # fmt: skip
    failed = sam.get(at).content.decode()
    assert "11 attempts. It answered 500." in failed
    assert "&lt;b&gt;Broken" in failed
    assert sam.post(f"/settings/webhooks/deliveries/{delivery.id}/replay").headers["Location"] == at
    assert WebhookDelivery.objects.get().state == "waiting"

    sam.post(f"{at}change", {"url": URL})
    assert Webhook.objects.get().kinds == []
    assert "signs beside it until" in sam.post(f"{at}rotate-secret").content.decode()
    sam.post(f"{at}switch", {"on": "0"})
    off = sam.get(at).content.decode()
    assert "Nothing is sent: switched off." in off
    assert "Send a test" not in off
    sam.post(f"{at}switch", {"on": "1"})
    assert Webhook.objects.get().is_on
    assert sam.post(f"{at}remove").headers["Location"] == "/settings/webhooks/"
    assert sam.get(at).status_code == 404


def test_it_is_not_a_members(world: World, browser_of: SignIn) -> None:
    kim = browser_of(world.kim)
    webhook, _ = subscriptions.add(URL, by=world.sam.actor)
    assert kim.get("/settings/webhooks/").status_code == 403
    assert kim.get(f"/settings/webhooks/{webhook.id}/").status_code == 403
    assert kim.post("/settings/webhooks/add", {"url": URL}).status_code == 403
    assert Webhook.objects.count() == 1


def test_a_bad_url_names_its_field_and_keeps_nothing(world: World, browser_of: SignIn) -> None:
    answer = browser_of(world.sam).post("/settings/webhooks/add", {"url": "ftp://x"}, headers={"HX-Request": "true"})
    assert (answer.status_code, '"field": "url"' in answer.headers["HX-Trigger"]) == (422, True)
    assert not Webhook.objects.exists()


def test_deliveries_go_on_from_page_to_page(world: World, browser_of: SignIn) -> None:
    webhook, _ = subscriptions.add(URL, by=world.sam.actor)
    chain.link_all()
    WebhookDelivery.objects.all().delete()
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(workspace=world.fernhill, webhook=webhook, event_id=n, kind="run.failed") for n in range(1, 121)
    )
    sam, at, seen = browser_of(world.sam), f"/settings/webhooks/{webhook.id}/", []
    while True:
        page = sam.get(at).content.decode()
        seen += [int(n) for n in re.findall(r"<dt>Event</dt><dd><code>(\d+)<", page)]
        older = re.search(r'rel="next" href="([^"]+)"', page)
        if not older:
            break
        at = older[1]
    assert seen == list(range(120, 0, -1))
