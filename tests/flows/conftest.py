"""The whole of Median in one test: database, endpoint, agent process; customers and teammates come over HTTP."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.test import Client

from conversations.models import Channel, Conversation, Customer, Item, ItemKind
from median_site.lib import clock
from team.models import Workspace
from tests import world as worlds
from tests.endpoint import Endpoint, shop_endpoint
from tests.world import World
from tools import keys, session_tokens
from tools.models import EndpointSync


@dataclass
class Chat:
    """A customer's widget, without a browser: it holds a session token and speaks the widget's HTTP."""

    workspace: Workspace
    token: str
    sent: int = 0

    def write(self, text: str) -> None:
        self.sent += 1
        answer = Client().post(
            f"/widget/{self.workspace.slug}/messages",
            json.dumps({"text": text, "client_id": f"message-{self.sent}"}),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.token}", "Accept": "application/json"},
        )
        assert answer.status_code == 201, answer.content

    @property
    def conversation(self) -> Conversation:
        return Conversation.objects.filter(workspace=self.workspace, channel=Channel.WIDGET).latest("created_at")

    def replies(self) -> list[str]:
        items = Item.objects.filter(conversation=self.conversation, kind__in=[ItemKind.AGENT, ItemKind.TEAM])
        return list(items.order_by("number").values_list("text", flat=True))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with shop_endpoint(worlds.SECRET) as served:
        yield served


@pytest.fixture
def live_world(transactional_db: None, endpoint: Endpoint) -> World:
    """The world with the shop's tools behind it; Ana has no conversation yet."""
    world = worlds.build(endpoint_url=endpoint.url)
    world.conversation.delete()
    EndpointSync.objects.all().delete()  # so that the first reply has to wait for a sync
    return world


@pytest.fixture
def ana(live_world: World) -> Chat:
    return Chat(live_world.fernhill, _token(live_world.fernhill, live_world.ana))


def _token(workspace: Workspace, customer: Customer) -> str:
    return session_tokens.mint(
        keys.current(workspace.id), issuer=workspace.issuer, subject=customer.subject, anonymous=False, claims={},
        email=customer.email, name=customer.name, now=clock.now(),
    )  # fmt: skip
