"""Jobs of this app, called by name by the job cluster. Each may run twice at once."""

import time
from typing import Final

from mail import mailboxes, polling, reports

_ENOUGH_S: Final = 25  # the next run goes on; with the longest look it is less than the cluster lets a job take


def poll() -> int:
    """Look into the mailboxes that are due, one after the other. Gives how many mails came in."""
    stop = time.monotonic() + _ENOUGH_S
    taken = 0
    while time.monotonic() < stop and (mailbox := mailboxes.claim_due()):
        taken += polling.look(mailbox).taken
    return taken


def hourly() -> int:
    """Forget mails that were left aside long ago. Gives how many."""
    return reports.forget_old()
