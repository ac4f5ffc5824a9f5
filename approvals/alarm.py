"""One alarm for the installation: a job that becomes due at the earliest deadline, to the second.

Schedules of the job cluster fire up to half a minute late; a queued job with a future lock fires on time. One alarm
stands for all requests: when it rings, what is due expires and the next one is set. The hourly check sets a lost one.
"""

from datetime import datetime

from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.tasks import async_task

from approvals.models import ExpiryAlarm
from median_site.lib import clock

JOB = "approvals.jobs.expire_due"


class _DueAt(ORM):  # type: ignore[misc]  # django-q2 ships no types
    """django-q2's own broker, but for when the job becomes due."""

    def __init__(self, at: datetime) -> None:
        super().__init__(list_key=Conf.CLUSTER_NAME)
        self.at = at

    def enqueue(self, task: str) -> int:
        return int(self.get_connection().create(key=self.list_key, payload=task, lock=self.at).pk)


def set_for(at: datetime) -> None:
    """Make sure that an alarm rings at `at` or before, inside the caller's transaction.

    One whose time has come by this process's clock has rung. Should that be early by the database's, which decides, it
    rings again.
    """
    if ExpiryAlarm.objects.filter(at__gt=clock.now(), at__lte=at).exists():
        return
    ExpiryAlarm.objects.update_or_create(id=1, defaults={"at": at})
    async_task(JOB, broker=_DueAt(at), task_name="expiry alarm", save=False)
