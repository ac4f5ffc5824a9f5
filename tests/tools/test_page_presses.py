"""Agent > Tools: what each press does, and who may press."""

import json
from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from median_site.lib import secrets
from team.models import Event, SigningKey, Teammate
from tests.manifest_server import ManifestServer, manifest_server
from tests.world import SECRET, World
from tools.models import Endpoint, EndpointSync, Tool, ToolRun

Browser = Callable[[Teammate], Client]
PAGE = "/agent/tools/"
HTMX = {"HX-Request": "true"}
OTHER = "whsec_b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVy"


@pytest.fixture
def served() -> Iterator[ManifestServer]:
    tools = [
        {"name": "stockLevel", "description": "How many are left."},
        {"name": "bad name", "description": "Refused."},
    ]
    with manifest_server(*tools) as server:
        yield server


def presses(world: World) -> dict[str, dict[str, str]]:
    """Every POST of the page, with what it carries."""
    endpoint = f"{PAGE}endpoints/{world.endpoint.id}"
    return {
        f"{PAGE}endpoints": {"url": "https://shop.example/tools"},
        f"{endpoint}/sync": {},
        f"{endpoint}/url": {"url": "http://127.0.0.1:8/else"},
        f"{endpoint}/secret": {},
        f"{endpoint}/secret/stop-old": {},
        f"{endpoint}/remove": {},
        f"{PAGE}refundOrder/switch": {"on": "0"},
        f"{PAGE}closeAccount/test": {"input": "{}"},
        f"{PAGE}signing/rotate": {},
    }


def is_untouched(world: World) -> bool:
    endpoint = Endpoint.objects.get()
    return (
        endpoint.removed_at is None
        and endpoint.url == "http://127.0.0.1:9/tools"
        and secrets.unseal(endpoint.sealed_secret) == SECRET
        and world.tool("refundOrder").switched_on
        and EndpointSync.objects.count() == 1
        and ToolRun.objects.count() == 0
        and SigningKey.objects.filter(workspace=world.fernhill).count() == 1
    )


def test_a_member_looks_and_changes_nothing(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.kim)
    page = browser.get(PAGE).text
    assert "Refund order" in page
    assert "Owners and admins add endpoints and switch tools." in page
    for press in ['role="switch"', "Sync now", "Add endpoint", "Rotate key", ">Test<", "Remove endpoint"]:
        assert press not in page
    assert "<form" not in browser.get(f"{PAGE}endpoints/{world.endpoint.id}/", headers={"HX-Target": "drawer"}).text
    for path, given in presses(world).items():
        answer = browser.post(path, given, headers=HTMX)
        assert (answer.status_code, answer.text) == (403, "Only owners and admins can do this.")
    assert is_untouched(world)


@pytest.mark.django_db(transaction=True)
def test_another_workspace_finds_nothing(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.mallory)
    assert "Refund order" not in browser.get(PAGE).text
    for path in [f"{PAGE}refundOrder/", f"{PAGE}endpoints/{world.endpoint.id}/"]:
        assert browser.get(path).status_code == 404
    its_own = {f"{PAGE}endpoints", f"{PAGE}signing/rotate"}
    for path, given in presses(world).items():
        if path not in its_own:
            assert browser.post(path, given).status_code == 404
    assert is_untouched(world)


def test_a_get_changes_nothing(world: World, browser_of: Browser) -> None:
    for path in presses(world):
        assert browser_of(world.sam).get(path).status_code == 405
    assert is_untouched(world)


def test_a_page_made_for_somebody_else(world: World, browser_of: Browser) -> None:
    for path, given in presses(world).items():
        answer = browser_of(world.sam).post(path, given, headers={**HTMX, "X-Median-As": world.kim.id})
        said = "You are signed in as Sam now. Reload the page; nothing was done."
        assert (answer.status_code, answer.text) == (409, said)
    assert is_untouched(world)


def test_nobody_is_sent_to_sign_in(world: World) -> None:
    answer = Client().get(PAGE)
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/?next=/agent/tools/")
    for path, given in presses(world).items():
        assert Client().post(path, given).status_code == 302
    assert is_untouched(world)


def test_switching(world: World, browser_of: Browser) -> None:
    for _ in range(2):
        answer = browser_of(world.sam).post(f"{PAGE}refundOrder/switch", {"on": "0"})
        assert (answer.status_code, answer["Location"]) == (302, PAGE)
    assert not world.tool("refundOrder").switched_on
    assert Event.objects.filter(kind="tool.switched").count() == 1
    answer = browser_of(world.sam).post(f"{PAGE}refundOrder/switch", {"on": "1"}, headers={"HX-Target": "drawer"})
    assert answer["Location"] == f"{PAGE}refundOrder/"
    assert world.tool("refundOrder").switched_on


def test_removing(world: World, browser_of: Browser) -> None:
    browser_of(world.sam).post(f"{PAGE}endpoints/{world.endpoint.id}/remove")
    assert Endpoint.objects.get().removed_at is not None
    page = browser_of(world.sam).get(PAGE).text
    assert "No tools yet" in page
    assert "http://127.0.0.1:9/tools" not in page


def test_rotating_the_key(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    browser.post(f"{PAGE}signing/rotate")
    again = browser.post(f"{PAGE}signing/rotate", headers=HTMX)
    assert (again.status_code, again.text) == (409, "A new key takes over in a few minutes already.")
    assert SigningKey.objects.filter(workspace=world.fernhill).count() == 2


@pytest.mark.django_db(transaction=True)
def test_adding_syncs_and_shows_the_secret_once(world: World, browser_of: Browser, served: ManifestServer) -> None:
    browser = browser_of(world.sam)
    page = browser.post(f"{PAGE}endpoints", {"url": served.url, "secret": ""})
    assert page.status_code == 200
    assert page.text.count('<code class="secret">whsec_') == 1
    assert "Stock level" in page.text
    assert "Refused: <code>bad name</code>" in page.text
    endpoint = Endpoint.objects.get(url=served.url)
    assert endpoint.synced_at is not None
    secret = secrets.unseal(endpoint.sealed_secret)
    assert secret in page.text
    assert secret not in browser.get(PAGE).text
    assert secret not in browser.get(f"{PAGE}endpoints/{endpoint.id}/").text
    again = browser.post(f"{PAGE}endpoints", {"url": served.url}, headers=HTMX)
    assert (again.status_code, again.text) == (409, "This endpoint is in the list already.")
    assert Endpoint.objects.filter(url=served.url).count() == 1


@pytest.mark.django_db(transaction=True)
def test_sync_now_says_what_came_of_it(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    page = browser.post(f"{PAGE}endpoints/{world.endpoint.id}/sync", follow=True).text
    assert "The endpoint could not be reached." in page
    assert "Still showing 8 tools from the last successful sync" in page
    drawer = browser.post(
        f"{PAGE}endpoints/{world.endpoint.id}/sync", headers={**HTMX, "HX-Target": "drawer"}, follow=True
    ).text
    assert drawer.count("<code>unreachable</code>") == 2
    assert EndpointSync.objects.filter(endpoint=world.endpoint, code="unreachable", by_name="Sam Okafor").count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_new_address_and_a_new_secret_are_synced_at_once(
    world: World, browser_of: Browser, served: ManifestServer
) -> None:
    browser, path = browser_of(world.sam), f"{PAGE}endpoints/{world.endpoint.id}"
    page = browser.post(f"{path}/url", {"url": served.url}, follow=True).text
    assert "1 added, 8 gone" in page
    shown = browser.post(f"{path}/secret", {"secret": OTHER}).text
    assert shown.count(OTHER) == 1
    assert "Two signatures stand side by side until" in shown
    assert len(served.requests) == 2
    assert len(served.requests[1].headers["webhook-signature"].split()) == 2
    page = browser.post(f"{path}/secret/stop-old", follow=True).text
    assert "Two signatures" not in page
    assert OTHER not in page
    assert Tool.objects.get(name="stockLevel").endpoint == world.endpoint


def test_what_is_refused_names_its_field(world: World, browser_of: Browser) -> None:
    endpoint = f"{PAGE}endpoints/{world.endpoint.id}"
    for path, given, field in [
        (f"{PAGE}endpoints", {"url": "ftp://x"}, "url"),
        (f"{PAGE}endpoints", {"url": "http://127.0.0.1:8/x", "secret": "whsec_"}, "secret"),
        (f"{endpoint}/url", {"url": "http://10.0.0.5/tools"}, "url"),
        (f"{endpoint}/secret", {"secret": " "}, "secret"),
    ]:
        answer = browser_of(world.sam).post(path, given, headers=HTMX)
        assert answer.status_code == 422
        assert json.loads(answer["HX-Trigger"])["toast"]["field"] == field
    assert is_untouched(world)


@pytest.mark.django_db(transaction=True)
def test_a_test_shows_everything_with_masked_signatures(
    world: World, browser_of: Browser, served: ManifestServer
) -> None:
    Endpoint.objects.update(url=served.url)
    given = {"input": '{"orderNumber":"ORD-1042"}', "subject": "user_123"}
    browser, path = browser_of(world.sam), f"{PAGE}orderStatus/test"
    shown = browser.post(path, given, headers={**HTMX, "HX-Target": "tested"}).text
    run = ToolRun.objects.get()
    sent = served.requests[0]
    assert "<html" not in shown
    for part in [
        "It answered.", f"POST {served.url}", f"webhook-id: {run.id}", "&#34;externalId&#34;:&#34;user_123&#34;",
        "{&#34;left&#34;:3}", "&#34;aud&#34;: &#34;orderStatus&#34;", "content-type: application/json", " ms",
    ]:  # fmt: skip
        assert part in shown
    assert sent.headers["webhook-signature"] not in shown
    assert sent.headers["authorization"].removeprefix("Bearer ")[:60] not in shown
    whole = browser.post(path, given).text
    assert "<html" in whole
    assert 'value="user_123"' in whole
    assert ToolRun.objects.count() == 2
