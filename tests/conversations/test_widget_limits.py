"""What the widget's own limits let through: of one session, of one address, and of everybody whom nobody knows."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory

from conversations import jobs
from conversations.models import Customer, Item, WidgetUse
from median_site.lib import clock, env, remote
from tests.conversations.test_widget import Page, token_of
from tests.world import World

NOW = clock.now().replace(second=20, microsecond=0)


def used(world: World, what: str, who: str, times: int) -> None:
    """This much of the minute is over already."""
    minute = NOW.replace(second=0)
    WidgetUse.objects.create(workspace=world.fernhill, what=what, who=who, minute=minute, times=times)


def attach(token: str) -> int:
    client = Client(headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
    return client.post("/widget/fernhill/attachments", {"file": SimpleUploadedFile("a.txt", b"x")}).status_code


def new_visitor() -> str:
    token: str = Client().post("/widget/fernhill/anonymous").json()["token"]
    return token


def test_thirty_messages_a_minute(world: World, time_machine) -> None:
    time_machine.move_to(NOW, tick=False)
    page = Page(token_of(world.fernhill))
    assert [page.send(client_id=f"message-{number}").status_code for number in range(30)] == [201] * 30
    refused = page.send(client_id="message-30")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "40")
    assert refused.json()["error"] == {
        "code": "rate_limited",
        "message": "That is a lot of messages at once. Wait a minute, then send this one again; it is still here.",
        "field": None,
    }
    assert Item.objects.filter(kind="customer").count() == 30
    assert Page(token_of(world.fernhill, "user_9")).send().status_code == 201
    time_machine.shift(40)
    assert page.send(client_id="message-30").status_code == 201


@pytest.mark.parametrize(("what", "most"), [("messages", 300), ("files", 150), ("tokens", 60)])
def test_what_one_address_may_do(world: World, time_machine, what: str, most: int) -> None:
    time_machine.move_to(NOW, tick=False)
    used(world, what, "address 127.0.0.1", most - 1)
    new = token_of(world.fernhill, "user_8")
    does = {
        "messages": lambda: Page(new).send().status_code,
        "files": lambda: attach(new),
        "tokens": lambda: Client().post("/widget/fernhill/anonymous").status_code,
    }[what]
    assert [does(), does()] == [201, 429]
    assert WidgetUse.objects.get(what=what, who="address 127.0.0.1").times == most + 1
    time_machine.shift(40)
    assert does() == 201


def test_files_of_a_session_and_of_all_visitors(world: World, time_machine) -> None:
    time_machine.move_to(NOW, tick=False)
    used(world, "files", "session verified:user_123", 14)
    assert [attach(token_of(world.fernhill)) for _ in range(2)] == [201, 429]
    used(world, "files", "unknown", 59)
    assert [attach(new_visitor()) for _ in range(2)] == [201, 429]
    assert attach(token_of(world.fernhill, "user_9")) == 201


def test_who_is_too_fast_leaves_no_customer(world: World, time_machine) -> None:
    time_machine.move_to(NOW, tick=False)
    used(world, "messages", "address 127.0.0.1", 300)
    assert Page(new_visitor()).send().status_code == 429
    assert Customer.objects.count() == 1  # Ana


def test_minutes_that_are_over_are_forgotten(world: World) -> None:
    used(world, "files", "unknown", 1)
    with clock.at(NOW + timedelta(hours=2)):
        assert jobs.hourly()["minutes"] == 1
    assert not WidgetUse.objects.exists()


@pytest.mark.parametrize(
    ("peer", "forwarded", "address", "network"),
    [
        ("203.0.113.5", "198.51.100.7", "203.0.113.5", "203.0.113.5"),
        ("10.0.0.2", "198.51.100.7", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.2", "6.6.6.6, 198.51.100.7, 10.0.0.9", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.2", "", "10.0.0.2", "10.0.0.2"),
        ("10.0.0.2", "<script>", "10.0.0.2", "10.0.0.2"),
        ("10.0.0.2", "10.0.0.3, 10.0.0.4", "10.0.0.3", "10.0.0.3"),
        ("::ffff:10.0.0.2", "2001:db8:1:2:3::4", "2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("", "198.51.100.7", "", ""),
    ],
)
def test_only_our_proxies_are_believed(
    settings, peer: str, forwarded: str, address: str, network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDIAN_TRUSTED_PROXIES", "10.0.0.0/8")
    settings.MEDIAN_TRUSTED_PROXIES = env.networks("MEDIAN_TRUSTED_PROXIES")
    request = RequestFactory(REMOTE_ADDR=peer).get("/", headers={"X-Forwarded-For": forwarded})
    assert (remote.address(request), remote.network(request)) == (address, network)
