"""What the API of a chat service, Slack's or Discord's, said to a request, in terms that its callers share. Pure."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError
from webhooks import outcomes

# done; limited: wait and try again, that was no failure; broken: try again later; unfit: the message is not accepted as
# it is; gone: the message or place it was about is no more; off: somebody has to mend the channel first.
Verdict = Literal["done", "limited", "broken", "unfit", "gone", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a request. `error` is a sentence, empty when it is done; `said` is the answer's JSON.

    `wait`: nothing more is to be sent to the same place for so long; of everything, if `everywhere`.
    """

    verdict: Verdict
    error: str = ""
    said: Json = None
    wait: timedelta = timedelta(0)
    everywhere: bool = False

    def at(self, *path: str | int) -> str:
        return at(self.said, *path)


def at(value: Json, *path: str | int) -> str:
    """A text or number somewhere in a payload, as text; empty when it is not there."""
    found = inside(value, *path)
    return strict_json.visible(str(found))[0] if isinstance(found, str | int | float) else ""


def inside(value: Json, *path: str | int) -> Json:
    """What is somewhere in a payload, None when it is not there."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def parsed(text: str | bytes) -> Json:
    """The JSON of a body, None when it is none."""
    try:
        return strict_json.loads(text)
    except JsonError:
        return None


def broken(outcome: outcomes.Outcome, *, named: str = "") -> Told:
    """An answer, or none, that says nothing but to try again; `named` is the service's own word for it."""
    error = f"{outcome.error.removesuffix('.')} ({named})." if named else outcome.error
    verdict: Verdict = "limited" if outcome.status == 429 else "broken"
    return Told(verdict=verdict, error=error[:200], wait=outcome.wait)
