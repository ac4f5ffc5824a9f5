"""`manage.py agent`: the agent process."""

import asyncio
import signal

from django.conf import settings
from django.core.checks import Tags
from django.core.management.base import BaseCommand

from agent.loop import AgentProcess
from agent.models import from_settings


class Command(BaseCommand):
    help = "Works on what the rows say is due: the agent's turns, tool calls and write-ups. Run any number of it."
    # All checks would import every page first; the web process and the migrations make them.
    requires_system_checks = ()

    def handle(self, *args: object, **options: object) -> None:
        self.check(tags=[Tags.database], databases=["default"])
        asyncio.run(self._run())

    async def _run(self) -> None:
        model = from_settings(settings.MEDIAN_MODEL_URL, key=settings.MEDIAN_MODEL_KEY, name=settings.MEDIAN_MODEL_NAME)
        writer = from_settings(
            settings.MEDIAN_WRITEUP_URL, key=settings.MEDIAN_WRITEUP_KEY, name=settings.MEDIAN_WRITEUP_NAME
        )
        judge = from_settings(
            settings.MEDIAN_REVIEWER_URL, key=settings.MEDIAN_REVIEWER_KEY, name=settings.MEDIAN_REVIEWER_NAME
        )
        helper = from_settings(
            settings.MEDIAN_ASSISTANT_URL, key=settings.MEDIAN_ASSISTANT_KEY, name=settings.MEDIAN_ASSISTANT_NAME
        )
        process = AgentProcess(model, writer=writer, judge=judge, helper=helper)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, process.stop)
        await process.run()
