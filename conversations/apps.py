from importlib import import_module

from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "conversations"

    def ready(self) -> None:
        import_module("conversations.receivers")
