"""Jobs of this app, called by name by the job cluster. Each may run twice at once; none touches the network."""

from tools import endpoints, keys, sync


def hourly() -> dict[str, int]:
    """Ask for the syncs of quiet workspaces, and erase the secrets and keys whose time is over."""
    return {
        "syncs": sync.ask_all(),
        "secrets": endpoints.forget_old_secrets(),
        "keys": keys.forget_retired(),
    }
