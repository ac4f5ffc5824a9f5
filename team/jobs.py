"""Jobs of this app, called by name by the job cluster. Each may run twice at once."""

from team import api_answers, api_limits, chain, closing


def link() -> int:
    """Where no agent process runs, the log's chain still follows. Gives how many events were linked."""
    linked = 0
    while more := chain.link_all():
        linked += more
    return linked


def hourly() -> dict[str, int]:
    """Forget what was kept for a while: answers of POSTs, minutes of keys, workspaces that were deleted."""
    return {"answers": api_answers.sweep(), "minutes": api_limits.sweep(), "workspaces": closing.erase_closed()}
