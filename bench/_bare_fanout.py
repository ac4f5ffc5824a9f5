"""Fan-out as Channels' own documentation does it: a group, and `group_send` of what one socket says to all of them.

Its layer is the one in memory, the quickest there is: nothing crosses a process.
"""

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

settings.configure(CHANNEL_LAYERS={"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}})


class Tab(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    async def connect(self) -> None:
        await self.channel_layer.group_add("thread", self.channel_name)
        await self.accept()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        await self.channel_layer.group_send("thread", {"type": "push", "text": text_data})

    async def push(self, event: dict[str, str]) -> None:
        await self.send(text_data=event["text"])


application = Tab.as_asgi()
