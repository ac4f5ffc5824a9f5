"""The preview: every fragment in every state while DEBUG is on, and nothing at all while it is off."""

import importlib
import re
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import clear_url_caches
from pytest_django import DjangoAssertNumQueries

from approvals.models import State
from conversations.lines import LINES
from median_site import urls
from median_site.preview.views import ERRORS, GROUPS
from tools.models import RunState


def _reload() -> None:
    importlib.reload(urls)
    clear_url_caches()


@pytest.fixture
def debug(settings: pytest.FixtureRequest) -> Iterator[None]:
    """The paths as they are when the process starts with DEBUG on."""
    settings.DEBUG = True
    _reload()
    yield
    settings.DEBUG = False
    _reload()


@pytest.fixture
def shown(debug: None, db: None, django_assert_num_queries: DjangoAssertNumQueries) -> dict[str, str]:
    """Each group's page; none of them asks the database anything."""
    with django_assert_num_queries(0):
        answers = {name: Client().get(f"/preview/{name}/") for name in GROUPS}
        assert "<title>Requests that wait, preview</title>" in Client().get("/preview/").text
    assert {answer.status_code for answer in answers.values()} == {200}
    assert not any("<script" in answer.text or " style=" in answer.text for answer in answers.values())
    return {name: answer.text for name, answer in answers.items()}


def test_every_state_is_shown(shown: dict[str, str]) -> None:
    cards = shown["waiting"] + shown["approved"] + shown["closed"]
    assert set(re.findall(r'class="card approval-card on-axis".*? data-state="(\w+)"', cards)) == set(State.values)
    # One of the unanswered ones is not yet written down as expired.
    ends = re.findall(r"<span>Expired ([^<]*)</span>", cards)
    assert sorted(ends) == [
        "because its endpoint was removed", "because the conversation ended", "unanswered", "unanswered",
    ]  # fmt: skip
    by_hand = re.findall(r'class="card run-card on-axis".*? data-state="(\w+)"', shown["runs"])
    assert set(by_hand) == set(RunState.values)
    assert set(re.findall(r'data-mark="(\w+)"', shown["queue"])) == {"waiting", "reviewing", "failed"}
    assert shown["lines"].count('<p class="line"') == len(LINES) + 2
    assert shown["toasts"].count('class="toast"') == 3


def test_errors_are_the_products_own(debug: None, db: None) -> None:
    for status in ERRORS:
        answer = Client().get(f"/preview/errors/{status}/")
        assert (answer.status_code, 'class="gate"' in answer.text) == (status, True)
    assert Client().get("/preview/errors/418/").status_code == 404
    assert Client().get("/preview/nothing/").status_code == 404
    assert Client().post("/preview/").status_code == 405


def test_it_is_not_there_without_debug(db: None) -> None:
    for path in ("", "waiting/", "errors/404/"):
        assert Client().get(f"/preview/{path}").status_code == 404
    with pytest.raises(CommandError, match="Set MEDIAN_DEBUG=1 to serve it"):
        call_command("preview", stdout=StringIO())
