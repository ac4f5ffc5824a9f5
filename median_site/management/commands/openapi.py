"""`manage.py openapi`: the API's description, for tools that read it."""

import json

from django.core.management.base import BaseCommand

from median_site.api.app import api


class Command(BaseCommand):
    help = "Prints the OpenAPI 3.1 description of the REST API."

    def handle(self, *args: object, **options: object) -> None:
        self.stdout.write(json.dumps(api.get_openapi_schema(), indent=2))
