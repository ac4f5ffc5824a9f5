"""How every command begins and ends: stop signals, exit codes, and failures as sentences instead of tracebacks."""

import errno
from collections.abc import Callable

from runtime.console import Console, Failure
from runtime.stopping import StopFlag, Stopped

FAILED = 1
INTERRUPTED = 130

# What the machine refuses, as opposed to a mistake of ours.
_REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)


def run(work: Callable[[StopFlag], int], *, console: Console) -> int:
    """Does the work of a command and returns its exit code."""
    try:
        with StopFlag() as stop:
            stop.listen()
            return work(stop)
    except Failure as failure:
        console.say(f"\n{failure}")
    except Stopped:
        return INTERRUPTED
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        console.say(f"\n{error.filename}: {error.strerror}.")
    return FAILED
