"""What a model wrote as arguments, made into an input or refused. Pure.

Never repaired and never guessed: broken text, or text that may be cut off, is not an input.
"""

from dataclasses import dataclass
from typing import Final

from agent.models.base import ToolCall
from median_site.lib import strict_json, text
from median_site.lib.strict_json import Json, JsonError
from tools import schema
from tools.models import Tool

SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class BadArguments(Exception):
    """Why nothing is called; `message` goes to the model, so that it can correct itself."""

    message: str


def read(call: ToolCall, tool: Tool, *, finish: str) -> str:
    """The exact JSON text of the input that a call of `tool` would send. Raises BadArguments."""
    if finish == "length":
        raise BadArguments("The answer was cut off by its length, so nothing was called. Write it again, shorter.")
    compiled = schema.compile_schema(tool.input_schema)
    value = _value(call.arguments)
    if not isinstance(value, dict):
        raise BadArguments(f"The arguments of {tool.name} must be one JSON object. They were: {_shown(call)}")
    errors = schema.check_input(compiled, value)
    if errors:
        raise BadArguments(" ".join(error.message for error in errors[:5]))
    return strict_json.dumps(schema.normalize(compiled, value))


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
        return strict_json.loads(written)
    except JsonError as error:
        raise BadArguments(
            f"The arguments are not valid JSON ({error}). They were: {text.excerpt(written, SHOWN)}"
        ) from error


def _shown(call: ToolCall) -> str:
    return text.excerpt(call.arguments or "nothing", SHOWN)
