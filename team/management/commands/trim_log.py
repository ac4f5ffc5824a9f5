"""`manage.py trim_log`: retention, by hand or from cron."""

from argparse import ArgumentParser
from datetime import UTC, datetime

from django.core.management.base import BaseCommand, CommandError

from median_site.lib import clock
from team import chain
from team.models import Workspace


class Command(BaseCommand):
    help = "Takes the oldest events of a workspace's log away. What is left can still be verified."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("workspace", help="the workspace's slug, like fernhill")
        parser.add_argument("--before", required=True, help="the day of the first event that stays, as in 2026-01-31")

    def handle(self, *args: object, workspace: str, before: str, **options: object) -> None:
        row = Workspace.objects.filter(slug=workspace).first()
        if row is None:
            raise CommandError(f"There is no workspace {workspace}.")
        try:
            day = datetime.strptime(before, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError as error:
            raise CommandError(f"{before} is no day; write it like 2026-01-31.") from error
        if day > clock.now():
            raise CommandError(f"{before} is yet to come: nothing of the log would be left.")
        self.stdout.write(f"{chain.drop(row.id, before=day)} events are gone.")
