"""Request headers as verification sees them: lower-case names, every occurrence kept."""

from typing import TypeAlias

from median_tools.answers import ToolError

Headers: TypeAlias = tuple[tuple[str, str], ...]

MAX_VALUE = 4096


def one(headers: Headers, name: str) -> str:
    """The value of a header that must come exactly once. Raises ToolError 401 naming it otherwise."""
    values = [value for given, value in headers if given == name]
    if not values or not values[0]:
        raise unauthorized(f"{name} is missing.")
    if len(values) > 1:
        raise unauthorized(f"{name} was sent {len(values)} times.")
    if len(values[0]) > MAX_VALUE:
        raise unauthorized(f"{name} is too long.")
    return values[0]


def unauthorized(message: str) -> ToolError:
    """The error of a request whose sender is not proven. The message says which part, never what would be right."""
    return ToolError("unauthorized", message, status=401)
