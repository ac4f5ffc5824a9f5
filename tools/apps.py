from importlib import import_module

from django.apps import AppConfig


class ToolsConfig(AppConfig):
    name = "tools"

    def ready(self) -> None:
        import_module("tools.receivers")
