"""`manage.py review_drill`: the reviewer on the written conversations. The last line counts false approvals."""

import asyncio
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.core.management.base import BaseCommand, CommandParser

from agent.models import from_settings
from agent.reviewing import reviewer_of
from approvals.reviewer import drill
from approvals.reviewer.demo import DemoReviewer
from approvals.reviewer.drill import Case, Result
from approvals.reviewer.model import Reviewer


class Command(BaseCommand):
    help = "Let the configured reviewer read the written conversations, and print where it differs from what is right."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--gate",
            action="store_true",
            help="a reviewer that approves everything instead: what does code let through?",
        )
        parser.add_argument("--cases", type=Path, default=settings.BASE_DIR / "tests" / "reviewer")

    def handle(self, *args: object, gate: bool, cases: Path, **options: Any) -> None:  # Django's own signature
        try:
            conversations = drill.load(cases)
        except FileNotFoundError:
            raise CommandError(f"There are no written conversations in {cases}.") from None
        results = asyncio.run(_with(DemoReviewer(), conversations) if gate else _with_model(conversations))
        self.stdout.write("\n".join(drill.table(results)))
        if any(result.is_false_approval for result in results):
            raise CommandError("The reviewer approved what it must not.")


async def _with(reviewer: Reviewer, conversations: list[Case]) -> list[Result]:
    return await drill.run(conversations, reviewer)


async def _with_model(conversations: list[Case]) -> list[Result]:
    model = from_settings(
        settings.MEDIAN_REVIEWER_URL, key=settings.MEDIAN_REVIEWER_KEY, name=settings.MEDIAN_REVIEWER_NAME
    )
    try:
        return await drill.run(conversations, reviewer_of(model))
    finally:
        await model.aclose()
