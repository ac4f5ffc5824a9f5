"""Customers and teammates in real windows. Every test here fails on anything a browser complains about."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from django.db import connection
from playwright.sync_api import Browser, BrowserContext, Locator, Page, ViewportSize, expect

from team.models import Teammate
from tests.chromium import Complaints, chromium, closing_connections
from tests.page_socket import signed_in
from tests.waiting import until
from tests.web_process import WebProcess, serving

OpenWindow = Callable[..., Page]
DESK: ViewportSize = {"width": 1280, "height": 800}

# Patience for a machine that is busy with something else; only a test that fails waits so long.
expect.set_options(timeout=30_000)


@pytest.fixture(autouse=True)
def quick() -> None:
    """The web process checks passwords with the real hash, so the tests make them with it."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    with serving(tmp_path_factory.mktemp("web") / "web.log") as web:
        yield web


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    complaints = Complaints()
    yield complaints
    assert complaints.said == []


@pytest.fixture
def open_window(browser: Browser, complaints: Complaints) -> Iterator[OpenWindow]:
    """Opens a window in a browser of its own, on the web process with that address; signed in when given a teammate."""
    with ExitStack() as windows, closing_connections():

        def open_one(url: str, teammate: Teammate | None = None) -> Page:
            context = windows.enter_context(browser.new_context(base_url=url, viewport=DESK))
            context.set_default_timeout(60_000)
            complaints.hear(context)
            if teammate:
                sign_in(context, teammate, url=url)
            return context.new_page()

        yield open_one
        # What a page still says on its way out, such as a draft, would meet tables that are being emptied.
        heard = list(complaints.said)
        for context in browser.contexts:
            context.set_offline(True)
        windows.close()
        complaints.said = heard
        until(_is_quiet)


def _is_quiet() -> bool:
    """Nobody else is at work in the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            " and state <> 'idle'"
        )
        return bool(cursor.fetchone()[0] == 0)


def sign_in(context: BrowserContext, teammate: Teammate, *, url: str) -> None:
    """What the sign-in form would leave in the browser."""
    name, value = signed_in(teammate)[1].split("=", 1)
    context.add_cookies([{"name": name, "value": value, "url": url}])


def reads(where: Locator, text: str | re.Pattern[str]) -> None:
    """What a person sees of it: either the name or "you"."""
    expect(where).to_have_text(text, use_inner_text=True)


def card_of(page: Page) -> Locator:
    return page.locator(".approval-card")


def deafen(page: Page) -> None:
    """The page's socket opens and says nothing: the page does not notice what happens elsewhere. Call before `goto`."""
    page.route_web_socket(re.compile("/live/$"), lambda socket: None)
