"""`manage.py preview`: every fragment in every state, for whoever changes a template or a style."""

from django.conf import settings
from django.contrib.staticfiles.management.commands import runserver
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser


class Server(runserver.Command):
    def check_migrations(self) -> None:
        """The preview asks no database anything, so there need not be one."""

    def on_bind(self, server_port: int) -> None:
        self.stdout.write(f"The preview is at http://127.0.0.1:{server_port}/preview/. Quit with Control-C.")


class Command(BaseCommand):
    help = "Serves a page that shows every fragment in every state. It needs MEDIAN_DEBUG=1 and no database."
    requires_system_checks = ()  # the server that it starts makes them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8010)

    def handle(self, *args: object, port: int, **options: object) -> None:
        if not settings.DEBUG:
            raise CommandError("The preview is for development only. Set MEDIAN_DEBUG=1 to serve it.")
        call_command(Server(), f"127.0.0.1:{port}")
