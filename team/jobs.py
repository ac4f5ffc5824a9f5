"""Jobs of this app, called by name by the job cluster. Each may run twice at once."""

from team import chain


def link() -> int:
    """Where no agent process runs, the log's chain still follows. Gives how many events were linked."""
    linked = 0
    while more := chain.link_all():
        linked += more
    return linked
