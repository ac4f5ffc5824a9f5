"""`manage.py prepare_demo`: brings the database up to date and makes the demo's workspace in it. Safe to repeat."""

import json
from typing import Any

from django.core.management import CommandError, call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from median_site import schedules
from median_site.demo import workspace
from median_site.demo.workspace import Facts
from median_site.lib.secrets import UnsealError


class Command(BaseCommand):
    help = "Migrate, install the recurring jobs, and make the demo's workspace unless it is there."
    # The demo waits for this command, and the checks would only import every page.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="print the facts as one line of JSON")

    def handle(self, *args: object, as_json: bool, **options: Any) -> None:  # Django's own signature
        _migrate()
        schedules.install()
        try:
            facts = workspace.prepare()
        except UnsealError as error:
            raise CommandError(f"{error} Start over with bin/demo --fresh.") from error
        self.stdout.write(json.dumps(facts) if as_json else _readable(facts))


def _migrate() -> None:
    """Looking whether anything is pending is ten times quicker than migrating nothing."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)


def _readable(facts: Facts) -> str:
    people = [f"{person['email']}   password  {person['password']}" for person in facts["teammates"]]
    lines = [
        f"The workspace {facts['workspace']} is ready.",
        *(f"  Sign in     {line}" for line in people),
        f"  Widget      {facts['widget_url']}",
        f"  Issuer      {facts['issuer']}",
        f"  Secret      {facts['shop_secret']}",
        f"  API key     {facts['api_key']}",
    ]
    return "\n".join(lines)
