"""Every recurring job: its name, when it runs, and why. `install` makes the job cluster's table say the same, after
every `migrate`."""

from datetime import timedelta
from typing import Final, NamedTuple

from django.apps import apps as installed
from django.apps.registry import Apps
from django.db import transaction
from django_q.models import Schedule

from median_site.lib import clock


class Job(NamedTuple):
    name: str
    function: str
    minutes: int
    why: str


JOBS: Final = (
    Job("hourly check", "approvals.jobs.check", 60, "Fails calls that never reported back, expires what was missed."),
    Job("tools", "tools.jobs.hourly", 60, "Asks for syncs of quiet workspaces, erases secrets and keys that are over."),
    Job(
        "threads",
        "conversations.jobs.hourly",
        60,
        "Frees threads of people who left, deletes unsent files, erases what is over its retention.",
    ),
    Job("log", "team.jobs.link", 60, "Links what no agent process has, so that the log's chain has no loose end."),
    Job("team", "team.jobs.hourly", 60, "Forgets what was kept for a while, and erases deleted workspaces."),
    Job("notifications", "notifications.jobs.hourly", 60, "Forgets browsers that people signed out of."),
    Job("mailboxes", "mail.jobs.poll", 1, "Fetches the mail of mailboxes that are due."),
    Job("mail", "mail.jobs.hourly", 60, "Forgets mails that were left aside months ago."),
    Job("webhooks", "webhooks.jobs.hourly", 60, "Erases secrets whose rotation is over, and old deliveries."),
    Job("discord", "discord.jobs.hourly", 60, "Forgets what was kept so that Discord may tell of it twice."),
    Job("assistant", "agent.jobs.hourly", 60, "Forgets what teammates asked the assistant a month ago."),
    Job("heartbeat", "median_site.jobs.beat", 1, "Shows the supervisor that the cluster still works."),
)


def after_migrations(apps: Apps = installed, **_: object) -> None:
    """The receiver of Django's signal; nothing is done while the job cluster's own migrations are not."""
    if apps.is_installed("django_q"):
        install()


def install() -> None:
    """Bring the stored schedules in line with JOBS; one that exists keeps its next run, one that is right is let be.

    One that is further away than its interval was set by a clock that was wrong.
    """
    now = clock.now()
    with transaction.atomic():
        Schedule.objects.exclude(name__in=[job.name for job in JOBS]).delete()
        stored = {row["name"]: row for row in Schedule.objects.values()}
        for job in JOBS:
            fields = {"func": job.function, "schedule_type": Schedule.MINUTES, "minutes": job.minutes, "repeats": -1}
            known = stored.get(job.name, {})
            is_off = bool(known) and known["next_run"] > now + timedelta(minutes=job.minutes)
            if is_off or not fields.items() <= known.items():
                again = {"next_run": now} if is_off else {}
                Schedule.objects.update_or_create(
                    name=job.name, defaults=fields | again, create_defaults={**fields, "next_run": now}
                )
