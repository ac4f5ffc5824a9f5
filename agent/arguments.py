"""What a model wrote as arguments, made into an input or refused.

Never repaired and never guessed: broken text, or text that may be cut off, is not an input.
"""

from dataclasses import dataclass
from typing import Final

from agent.models.base import ToolCall
from median_site.lib import strict_json, text
from median_site.lib.actors import Actor
from median_site.lib.strict_json import Json, JsonError
from tools import inputs
from tools.models import Tool

SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class BadArguments(Exception):
    """Why nothing is called; `message` goes to the model, so that it can correct itself."""

    message: str


def read(call: ToolCall, tool: Tool, *, finish: str, by: Actor, conversation_id: str) -> str:
    """The exact JSON text of the input that a call of `tool` would send. Raises BadArguments.

    A value for a per-user tool's subject is dropped and logged as tried by `by`.
    """
    if finish == "length":
        raise BadArguments("The answer was cut off by its length, so nothing was called. Write it again, shorter.")
    value = _value(call.arguments)
    if not isinstance(value, dict):
        raise BadArguments(f"The arguments of {tool.name} must be one JSON object. They were: {_shown(call)}")
    made = inputs.read(tool, value, by=by, conversation_id=conversation_id)
    if made.errors:
        raise BadArguments(" ".join(error.message for error in made.errors[:5]))
    return made.text


def _value(written: str | None) -> Json:
    if written is None or not written.strip():
        return {}
    value = _loads(written)
    if value is None:
        return {}
    # Some models encode the object once more as a string.
    return _loads(value) if isinstance(value, str) and value.lstrip().startswith("{") else value


def _loads(written: str) -> Json:
    try:
        return strict_json.loads_unique(written)
    except JsonError as error:
        raise BadArguments(
            f"The arguments are not valid JSON ({error}). They were: {text.excerpt(written, SHOWN)}"
        ) from error


def _shown(call: ToolCall) -> str:
    return text.excerpt(call.arguments or "nothing", SHOWN)
