"""Chromium in tests: starting it, what it must never say, and the one place where its tests are skipped."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# A violation of the page's policy would only be a line in the console, of a page that may have looked away.
_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  console.error("securitypolicyviolation", violatedDirective, blockedURI))
"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser. Where there is none the test is skipped, or fails if MEDIAN_REQUIRE_BROWSER=1."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None and os.environ.get("MEDIAN_REQUIRE_BROWSER") == "1":
        pytest.fail("MEDIAN_REQUIRE_BROWSER=1, but chromium is not installed.")
    if path is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        # Playwright runs an event loop in this thread; the ORM is used here all the same.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        with closing_connections():
            yield playwright.chromium.launch(executable_path=path, args=FLAGS)


@contextmanager
def closing_connections() -> Iterator[None]:
    """With an event loop in this thread, Django's own closing at the end of a test looks elsewhere. A handler of a
    route has a context of its own, thus a connection of its own."""
    try:
        yield
    finally:
        connections.close_all()


class Complaints:
    """What browsers complained about: console errors, exceptions, failed requests, violations of the policy."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def hear(self, context: BrowserContext) -> None:
        context.add_init_script(_TELL_VIOLATIONS)
        context.on("console", self._logged)
        context.on("weberror", lambda error: self.said.append(str(error.error)))
        context.on("requestfailed", self._failed)

    def take(self, part: str) -> None:
        """The test wanted these: the network's line and htmx's own. Raises AssertionError when there are none."""
        wanted = [said for said in self.said if part in said]
        assert wanted, f"{part!r} is not among {self.said}"
        self.said = [said for said in self.said if part not in said]

    def _logged(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.said.append(message.text)

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the page went elsewhere meanwhile
            self.said.append(f"{request.url}: {request.failure}")
