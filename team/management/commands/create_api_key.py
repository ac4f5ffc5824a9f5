"""`manage.py create_api_key`: a key for a program, printed this once."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from team import api_keys
from team.models import Workspace


class Command(BaseCommand):
    help = "Makes an API key of a workspace and prints it. It cannot be seen again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", help="the workspace's slug, like fernhill")
        parser.add_argument("name", help="what people will call the key, like Deploy script")
        parser.add_argument("--scopes", default="read,decide,run,manage", help=f"some of {','.join(api_keys.SCOPES)}")

    def handle(self, *args: object, workspace: str, name: str, scopes: str, **options: object) -> None:
        row = Workspace.objects.filter(slug=workspace).first()
        if row is None:
            raise CommandError(f"There is no workspace {workspace}.")
        try:
            _, plain = api_keys.create(row, name=name, scopes=[scope.strip() for scope in scopes.split(",")])
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(plain)
