"""Jobs of the installation itself, called by name by the job cluster."""

from pathlib import Path

from django.conf import settings


def beat() -> None:
    """Touch the file that a supervisor watches, where there is one."""
    if settings.MEDIAN_CLUSTER_BEAT:
        path = Path(settings.MEDIAN_CLUSTER_BEAT)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
