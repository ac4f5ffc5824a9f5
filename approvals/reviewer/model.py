"""What the reviewer's model has to be, seen from here: the agent process, which holds the models, hands one in."""

from typing import Protocol

from approvals.reviewer.material import Material


class NoAnswer(Exception):
    """The model gave nothing to read. `timed_out`: it did not answer in time; the message is for the log."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class Reviewer(Protocol):
    """Whoever reads the material. What it answers is a claim: approvals.reviewer.gate decides what it is worth."""

    @property
    def name(self) -> str: ...

    async def read(self, material: Material, *, wrong: str, deadline_s: float) -> str:
        """Its answer, which should be a verdict's JSON. `wrong`: what was wrong with the answer before, if it is asked
        once more. Raises NoAnswer and nothing else."""
