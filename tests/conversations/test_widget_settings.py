"""Settings > Widget: which sites may frame the chat, and the tag that puts it there."""

from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client

from team.models import Event, Teammate, Workspace
from tests.world import World

SignIn = Callable[[Teammate], Client]
PAGE = "/settings/widget/"


def kept() -> list[str]:
    return Workspace.objects.get(slug="fernhill").widget_origins.splitlines()


def test_an_admin_says_where_the_chat_may_stand(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    typed = " https://Shop.example/ \r\n\r\nhttps://*.shop.example\nhttp://localhost:8765\nhttps://shop.example:443\nhttps://bücher.example"
    for _ in range(2):
        assert sam.post(f"{PAGE}change", {"origins": typed}).headers["Location"] == PAGE
    wanted = [
        "https://shop.example",
        "https://*.shop.example",
        "http://localhost:8765",
        "https://xn--bcher-kva.example",
    ]
    assert kept() == wanted
    policy = Client().get("/widget/fernhill/")["Content-Security-Policy"]
    assert f"frame-ancestors {' '.join(wanted)}" in policy
    told = Event.objects.filter(kind="workspace.changed")
    assert [(event.actor_id, event.data) for event in told] == [(world.sam.id, {"fields": ["widget_origins"]})]
    assert sam.post(f"{PAGE}change", {"origins": ""}).status_code == 302
    assert "frame-ancestors 'none'" in Client().get("/widget/fernhill/")["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("shop.example", "An origin starts with https://."),
        ("javascript:alert(1)", "An origin starts with https://."),
        ("'self'; script-src *", "An origin starts with https://."),
        ("https://shop.example/cart?x", "Only the origin, without what follows it: https://shop.example."),
        ("https://*", "That is not the name of a host."),
        ("https://*.com", "A star stands for the subdomains of one domain, as in https://*.shop.example."),
        ("https://shop.*.example", "That is not the name of a host."),
        ("https://a b.example", "That is not the name of a host."),
        ("https://a.example;", "That is not the name of a host."),
        ("https://sam@shop.example", "That is not the name of a host."),
        ("https://shop.example:99999", "That is not an address."),
        ("https://[::1", "That is not an address."),
        ("https://shop_1.example", "That is not the name of a host."),
    ],
)
def test_what_is_no_origin_is_named_and_nothing_changes(world: World, browser_of: SignIn, line: str, why: str) -> None:
    answer = browser_of(world.sam).post(
        f"{PAGE}change", {"origins": f"https://shop.example\n{line}"}, headers={"HX-Request": "true"}
    )
    assert (answer.status_code, answer.text) == (400, f"Line 2, “{line}”: {why}")
    assert '"field": "origins"' in answer.headers["HX-Trigger"]
    assert (kept(), Event.objects.filter(kind="workspace.changed").count()) == ([], 0)


def test_too_many_origins(world: World, browser_of: SignIn) -> None:
    typed = "\n".join(f"https://shop{number}.example" for number in range(51))
    answer = browser_of(world.sam).post(f"{PAGE}change", {"origins": typed})
    assert (answer.status_code, kept()) == (400, [])


def test_everybody_reads_the_tag_and_managers_alone_change_the_sites(world: World, browser_of: SignIn) -> None:
    kim = browser_of(world.kim)
    page = unescape(kim.get(PAGE).text)
    assert '<script src="http://testserver/static/js/embed.js" data-workspace="fernhill" defer></script>' in page
    assert 'data-workspace="fernhill" data-token="TOKEN" defer></script>' in page
    assert "curl -X POST http://testserver/v1/session-tokens" in page
    assert 'href="/widget/fernhill/"' in page
    assert ">Save</button>" not in page
    refused = kim.post(f"{PAGE}change", {"origins": "https://evil.example"})
    assert (refused.status_code, kept()) == (403, [])
