"""Jobs of this app, called by name by the job cluster. Each may run twice at once."""

from agent import assistant


def hourly() -> int:
    """Forget what teammates asked the assistant a month ago. Gives how many questions."""
    return assistant.forget_old()
