"""Jobs of this app, called by name by the job cluster. Each may run twice at once; none touches the network."""

from notifications import browsers


def hourly() -> dict[str, int]:
    """Forget browsers that were signed out of, with what was on its way to them."""
    return {"browsers": browsers.forget_over()}
