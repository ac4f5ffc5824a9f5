"""Jobs of this app, called by name by the job cluster. Each may run twice at once."""

from conversations import attachments, retention, returning, widget_limits
from median_site.lib import actors
from team import notifications
from team.models import Teammate


def give_up(teammate_id: str) -> int:
    """All open threads of somebody who left, batch after batch, each in a transaction of its own. Gives how many."""
    teammate = Teammate.objects.exclude(removed_at=None).filter(id=teammate_id).first()
    by = actors.system(teammate.workspace_id) if teammate else None
    total = 0
    while teammate and by and (freed := returning.give_up(teammate, by=by)):
        total += freed
    return total


def hourly() -> dict[str, int]:
    """The hourly check: threads of people who left, files that nobody sent, threads that are older than their
    workspace keeps them, what teammates were told a year ago, and counted minutes."""
    return {
        "given_up": sum(give_up(teammate.id) for teammate in returning.left_behind()),
        "files": attachments.sweep(),
        "erased": retention.erase_old(),
        "notifications": notifications.forget_old(),
        "minutes": widget_limits.sweep(),
    }
