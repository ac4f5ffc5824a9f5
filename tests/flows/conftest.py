"""The whole of Median in one test, over `live_world`; customers and teammates come over HTTP."""

import json
from dataclasses import dataclass

import pytest
from django.test import Client

from conversations.models import Channel, Conversation, Item, ItemKind
from team.models import Workspace
from tests import world as worlds
from tests.world import World


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
def ana(live_world: World) -> Chat:
    return Chat(live_world.fernhill, worlds.session_token(live_world.ana))
