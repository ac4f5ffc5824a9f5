"""Jobs of this app, called by name by the job cluster. Each may run twice at once; none touches the network."""

from webhooks import deliveries, subscriptions


def hourly() -> dict[str, int]:
    """Erase the secrets whose rotation is over, and old deliveries."""
    return {"secrets": subscriptions.forget_old_secrets(), "deliveries": deliveries.forget_old()}
