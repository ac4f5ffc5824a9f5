from importlib import import_module

from django.apps import AppConfig


class DiscordConfig(AppConfig):
    name = "discord"

    def ready(self) -> None:
        import_module("discord.receivers")
