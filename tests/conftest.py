"""What every test may use: the world, signed-in browsers, and settings that keep the tests quick."""

from collections.abc import Callable

import pytest
from django.test import Client

from team.models import Teammate
from tests import world as worlds
from tests.world import World


@pytest.fixture(autouse=True)
def quick(settings: pytest.FixtureRequest) -> None:
    """A fast password hash."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def world(db: None) -> World:
    return worlds.build()


@pytest.fixture
def browser_of() -> Callable[[Teammate], Client]:
    """A signed-in browser of a teammate, whose pages were made for that teammate."""

    def sign_in(teammate: Teammate) -> Client:
        client = Client(headers={"X-Median-As": teammate.id})
        client.force_login(teammate.user)
        return client

    return sign_in
