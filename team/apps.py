from importlib import import_module

from django.apps import AppConfig


class TeamConfig(AppConfig):
    name = "team"

    def ready(self) -> None:
        import_module("team.receivers")
