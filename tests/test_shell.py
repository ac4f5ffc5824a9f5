"""The answers of the installation itself: health, robots, "you", public keys, and errors as pages."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test import Client

from median_site.lib import clock
from team.models import SigningKey, Teammate
from tests.world import World
from tools import keys

Browser = Callable[[Teammate], Client]


@pytest.mark.django_db
def test_healthy() -> None:
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.django_db
def test_a_database_that_does_not_answer() -> None:
    def broken(*_: object) -> None:
        raise OperationalError("the server closed the connection")

    with connection.execute_wrapper(broken):
        answer = Client().get("/healthz")
    assert (answer.status_code, answer.text) == (503, "The database does not answer.\n")


def test_robots_stay_out() -> None:
    assert Client().get("/robots.txt").text == "User-agent: *\nDisallow: /\n"


def test_a_page_is_in_no_frame_no_cache_and_no_fragments_place(world: World, browser_of: Browser) -> None:
    sam = browser_of(world.sam)
    for browser, path in ((sam, "/inbox/"), (sam, f"/inbox/{world.conversation.id}/"), (Client(), "/accounts/login/")):
        answer = browser.get(path)
        assert answer.status_code == 200
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        assert "img-src 'self';" in answer["Content-Security-Policy"]
        assert answer["X-Frame-Options"] == "DENY"
        assert "no-store" in answer["Cache-Control"]
        assert {"HX-Request", "Cookie"} <= {name.strip() for name in answer["Vary"].split(",")}
        assert all(cookie["samesite"] == "Lax" for cookie in answer.cookies.values())


def test_you_is_whoever_is_signed_in(world: World, browser_of: Browser) -> None:
    answer = browser_of(world.sam).get("/me.css")
    assert answer["Content-Type"] == "text/css; charset=utf-8"
    assert answer["Cache-Control"] == "private, no-store"
    assert answer.text == (
        f'[data-here="{world.sam.id}"] {{ display: none }}\n'
        f'[data-writers~="{world.sam.id}"] {{ display: inline }}\n'
        f'[data-mentions~="{world.sam.id}"] {{ background: var(--accent-soft) }}\n'
        f'[data-by="{world.sam.id}"] > .by-name {{ display: none }}\n'
        f'[data-by="{world.sam.id}"] > .by-you {{ display: inline }}\n'
    )
    assert world.sam.id not in browser_of(world.kim).get("/me.css").text
    assert Client().get("/me.css").text == ""


def test_public_keys_are_public_and_only_that(world: World) -> None:
    answer = Client().get("/w/fernhill/.well-known/jwks.json")
    assert answer["Cache-Control"] == "public, max-age=300"
    assert answer.cookies == {}
    (key,) = answer.json()["keys"]
    assert key["kid"] == keys.current(world.fernhill.id).kid
    assert sorted(key) == ["alg", "crv", "kid", "kty", "use", "x", "y"]
    assert Client().get("/w/nobody/.well-known/jwks.json").status_code == 404


def test_a_retired_key_is_published_until_its_time(world: World) -> None:
    old = SigningKey.objects.get(workspace=world.fernhill)
    old.retires_at = clock.now() + timedelta(hours=1)
    old.save(update_fields=["retires_at"])
    new = keys.ensure(world.fernhill.id)
    assert [key["kid"] for key in keys.published(world.fernhill.id)] == [new.kid, old.kid]
    assert keys.current(world.fernhill.id).kid == new.kid
    old.retires_at = clock.now()
    old.save(update_fields=["retires_at"])
    assert [key["kid"] for key in keys.published(world.fernhill.id)] == [new.kid]


def test_one_key_is_made_and_kept_sealed(world: World) -> None:
    row = keys.ensure(world.elsewhere.id)
    assert keys.ensure(world.elsewhere.id) == row
    assert SigningKey.objects.filter(workspace=world.elsewhere).count() == 1
    assert "PRIVATE KEY" not in row.sealed_private_key
    assert keys.published(world.elsewhere.id) != keys.published(world.fernhill.id)


@pytest.mark.django_db
def test_a_page_that_is_not_there() -> None:
    page = Client().get("/nothing/here/")
    assert page.status_code == 404
    assert "<h1>Not found</h1>" in page.text
    assert "Nothing is here, or it is not yours to see." in page.text
    program = Client().get("/nothing/here/", headers={"Accept": "application/json"})
    assert program.json()["error"]["code"] == "not_found"
