"""Jobs of this app, called by name by the job cluster. Each may run twice at once; none touches the network."""

from discord import inbound


def hourly() -> dict[str, int]:
    """Forget interactions that Discord repeats no more."""
    return {"interactions": inbound.forget_old()}
