from importlib import import_module

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "webhooks"

    def ready(self) -> None:
        import_module("webhooks.receivers")
