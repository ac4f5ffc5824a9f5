from importlib import import_module

from django.apps import AppConfig


class MailConfig(AppConfig):
    name = "mail"

    def ready(self) -> None:
        import_module("mail.receivers")
