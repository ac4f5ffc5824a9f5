"""What every test may use: the world, signed-in browsers, and settings that keep the tests quick."""

from collections.abc import Callable, Iterator

import hypothesis
import pytest
from django.db import connection
from django.test import Client, TransactionTestCase
from pytest_django.plugin import DjangoDbBlocker

from team.models import Teammate
from tests import emptying
from tests import world as worlds
from tests.endpoint import Endpoint, shop_endpoint
from tests.model_server import ModelServer, model_server
from tests.world import World
from tools.models import EndpointSync

# Tests are never timed: this machine may be busy with something else.
hypothesis.settings.register_profile("median", deadline=None)
hypothesis.settings.load_profile("median")

# After a test that commits. Django's own way takes a quarter of a second, and a deadlock with whoever is still at work.
TransactionTestCase._fixture_teardown = lambda self: emptying.empty()  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def quick(settings: pytest.FixtureRequest) -> None:
    """A fast password hash."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database. Processes that tests killed may still hold connections, which would keep it from going."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )


@pytest.fixture
def world(db: None) -> World:
    return worlds.build()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with shop_endpoint(worlds.SECRET) as served:
        yield served


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def live_world(transactional_db: None, endpoint: Endpoint) -> World:
    """The world with the shop's tools behind it; Ana has no conversation yet."""
    world = worlds.build(endpoint_url=endpoint.url)
    world.conversation.delete()
    EndpointSync.objects.all().delete()  # so that the first reply has to wait for a sync
    return world


@pytest.fixture
def browser_of() -> Callable[[Teammate], Client]:
    """A signed-in browser of a teammate, whose pages were made for that teammate."""

    def sign_in(teammate: Teammate) -> Client:
        client = Client(headers={"X-Median-As": teammate.id})
        client.force_login(teammate.user)
        return client

    return sign_in
