from importlib import import_module

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "approvals"

    def ready(self) -> None:
        import_module("approvals.receivers")
