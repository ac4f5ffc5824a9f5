"""One tool: what the manifest says of it, and how its function is called. Refuses at start what Median would refuse."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jsonschema_rs import Draft202012Validator

from median_tools import hints, p
from median_tools.answers import Json
from median_tools.calls import Call
from median_tools.schemas import check, compiled

RISKS = ("low", "medium", "reviewed", "high")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

Input = Mapping[str, p.Field] | dict[str, Json]


@dataclass(frozen=True)
class Tool:
    """A function with its place in the manifest. `by_name`: its parameters are the inputs, and `context_parameter` is
    the one that takes the context, if any; otherwise it is called as `f(input, context)`."""

    entry: dict[str, Json]
    function: Callable[..., object]
    validator: Draft202012Validator
    context_parameter: str | None
    by_name: bool

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)

    def check(self, call: Call) -> None:
        """Raises ToolError 422 `invalid_input` when the call's input does not fit."""
        check(self.validator, call.input)

    def run(self, call: Call) -> object:
        """What the function returns, a coroutine when it is async."""
        if not self.by_name:
            return self.function(call.input, call.context)
        context = {} if self.context_parameter is None else {self.context_parameter: call.context}
        return self.function(**call.input, **context)


def tool_of(
    function: Callable[..., object],
    *,
    name: str,
    description: str,
    risk: str,
    label: str | None,
    input: Input | None,
    session_start: bool,
    requires: str | None,
) -> Tool:
    """The tool that a decorated function is. Raises ValueError or TypeError naming the tool and what is wrong."""
    _must(_NAME.fullmatch(name) is not None, name, "a name has up to 64 letters, digits, _ and -, a letter first")
    _must(not (inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)), name,
          "a generator cannot be a tool; return the result")  # fmt: skip
    _must(description.strip() != "" and len(description) <= 2000, name, "description must have 1 to 2,000 characters")
    _must(risk in RISKS, name, f"risk must be one of {', '.join(RISKS)}")
    _must(label is None or (label.strip() != "" and len(label) <= 80), name, "label must have 1 to 80 characters")
    _must(requires is None or (requires.strip() != "" and len(requires) <= 100), name,
          "requires must have 1 to 100 characters")  # fmt: skip
    context_parameter = None
    if input is None:
        fields, context_parameter = hints.fields_of(function)
        schema = p.object(fields).schema
    else:
        schema = _schema(input)
        _must(_takes_two(function), name, "with input= the function must take (input, context)")
    _must(not (session_start and schema.get("required")), name, "a session_start tool may not have required input")
    entry: dict[str, Json] = {"name": name, "description": description, "risk": risk, "input": schema}
    if label is not None:
        entry["label"] = label
    entry |= {"sessionStart": session_start, "requires": requires}
    try:
        validator = compiled(schema)
    except (TypeError, ValueError) as error:  # TypeError: a value that is not JSON, as of an enum in a Literal
        raise ValueError(f"{name}: {error}") from None
    return Tool(entry, function, validator, context_parameter, by_name=input is None)


def _schema(given: Input) -> dict[str, Json]:
    """p fields become an object that takes no others; a JSON Schema is used as it stands."""
    fields = {name: field for name, field in given.items() if isinstance(field, p.Field)}
    if len(fields) == len(given):
        return p.object(fields).schema
    if fields:
        raise TypeError("input mixes p fields with JSON Schema; use one of them")
    return {name: value for name, value in given.items() if not isinstance(value, p.Field)}


def _takes_two(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return True


def _must(right: bool, name: str, otherwise: str) -> None:
    if not right:
        raise ValueError(f"{name}: {otherwise}")
