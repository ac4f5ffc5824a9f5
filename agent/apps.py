from importlib import import_module

from django.apps import AppConfig


class AgentConfig(AppConfig):
    name = "agent"

    def ready(self) -> None:
        import_module("agent.receivers")
