"""Jobs of this app, called by name by the job cluster. Each may run twice at once."""

from approvals import expiry
from approvals.alerts import presses
from tools import runs


def expire_due() -> int:
    """The alarm has rung: write down what is past its time. Gives how many requests expired."""
    return expiry.expire_due()


def check() -> dict[str, int]:
    """The hourly check: calls that never reported back, requests whose alarm was lost, an alarm that is not set; and
    presses of alerts that nobody needs any more."""
    stuck = runs.fail_stuck()  # row by row, so that nothing else holds it up
    expired = expiry.expire_due() + expiry.expire_removed()
    return {"stuck": stuck, "expired": expired, "presses": presses.forget_old()}
