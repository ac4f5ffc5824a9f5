"""The recurring jobs: in the job cluster's table after every migration, and each begun once in its time."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler

from median_site import schedules
from median_site.lib import clock

NAMES = {job.name for job in schedules.JOBS}


def test_a_migration_installs_them_and_mends_what_a_wrong_clock_put_off(db: None) -> None:
    Schedule.objects.all().delete()
    call_command("migrate", verbosity=0)
    assert set(Schedule.objects.values_list("name", flat=True)) == NAMES

    soon = clock.now() + timedelta(minutes=30)
    Schedule.objects.filter(name="tools").update(next_run=soon)
    Schedule.objects.filter(name="hourly check").update(next_run=soon + timedelta(days=365), minutes=7)
    Schedule.objects.create(name="of an older version", func="gone", schedule_type=Schedule.MINUTES)
    call_command("migrate", verbosity=0)
    kept = {row.name: row for row in Schedule.objects.all()}
    assert set(kept) == NAMES
    assert kept["tools"].next_run == soon
    assert kept["hourly check"].next_run <= clock.now()
    assert kept["hourly check"].minutes == 60


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Sao_Paulo"])
@pytest.mark.parametrize("day", [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)])
def test_each_runs_once_an_hour_when_the_clocks_change(
    transactional_db: None, time_machine, zone: str, day: datetime
) -> None:
    time_machine.move_to(day, tick=False)
    Schedule.objects.all().delete()
    schedules.install()
    with timezone.override(zone):
        for _ in range(8):
            time_machine.shift(1800)
            scheduler()
    begun = Counter(task.func() for task in OrmQ.objects.all())
    once_an_hour = {job.function: 4 for job in schedules.JOBS if job.minutes == 60}
    assert {name: begun[name] for name in once_an_hour} == once_an_hour
