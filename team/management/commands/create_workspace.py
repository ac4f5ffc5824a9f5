"""`manage.py create_workspace`: a new workspace, and the link that lets its first owner in, printed this once."""

from argparse import ArgumentParser

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from median_site.lib.errors import DomainError
from team import opening


class Command(BaseCommand):
    help = "Makes a workspace and prints the link with which its first owner joins; a new one as long as nobody has."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="what it is called in addresses, like fernhill")
        parser.add_argument("owner", help="the email address of its first owner")
        parser.add_argument("--name", help="what people read, like Fernhill Ltd; else the slug")

    def handle(self, *args: object, slug: str, owner: str, name: str | None, **options: object) -> None:
        try:
            token = opening.begin(slug, name=name or slug.capitalize(), owner=owner)
        except DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"{owner} joins as its owner here, once, within seven days:")
        self.stdout.write(f"{settings.MEDIAN_URL}{reverse('join', args=[token])}")
