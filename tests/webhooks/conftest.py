"""Fernhill and a receiver of its webhooks, on a database that other threads and processes see."""

from collections.abc import Iterator

import pytest

from tests import world as worlds
from tests.webhooks.receiver import Receiver, receiving
from tests.world import World


@pytest.fixture
def fernhill(transactional_db: None) -> World:
    return worlds.build()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver
