from importlib import import_module

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class MedianConfig(AppConfig):
    name = "median_site"

    def ready(self) -> None:
        import_module("median_site.checks")
        schedules = import_module("median_site.schedules")
        post_migrate.connect(schedules.after_migrations, sender=apps.get_app_config("django_q"))
