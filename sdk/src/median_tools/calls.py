"""A call as Median sends it, read into plain values. Nothing is verified or run here."""

from collections.abc import Mapping
from dataclasses import dataclass

from median_tools.answers import Json, ToolError, decode


@dataclass(frozen=True)
class Visitor:
    """The customer. `external_id` is your own id for them, present only when your server signed them in (`verified`).
    `email` and `name` are claims of the page: never decide by them."""

    verified: bool
    external_id: str | None
    email: str | None
    name: str | None


@dataclass(frozen=True)
class ToolContext:
    """Who and what a call is for. `raw` is the whole context object as it was sent."""

    visitor: Visitor
    conversation_id: str
    tool_call_id: str
    risk: str
    approved_by: str | None
    raw: Mapping[str, Json]


@dataclass(frozen=True)
class Call:
    """One tool call. `input` has been checked against the tool's schema by the time a tool sees it."""

    tool: str
    input: dict[str, Json]
    context: ToolContext


def refuse(reason: str = "tool_refused", detail: str | None = None) -> dict[str, Json]:
    """The result with which a tool says no. The agent reads both and does not ask for the same thing again."""
    return {"ok": False, "reason": reason, **({} if detail is None else {"detail": detail})}


def parse(body: bytes) -> Call:
    """The call in a request body. Raises ToolError 400 `invalid_call`, naming what is missing or of the wrong type."""
    try:
        sent = decode(body)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"The body is not JSON: {error}.") from None
    if not isinstance(sent, dict):
        raise _invalid("The body must be a JSON object.")
    tool = _text(sent, "tool")
    context = _context(_object(sent, "context"), tool_call_id=_text(sent, "toolCallId"))
    return Call(tool, _object(sent, "input"), context)


def _context(sent: dict[str, Json], *, tool_call_id: str) -> ToolContext:
    visitor = _object(sent, "visitor")
    verified = visitor.get("verified") is True
    return ToolContext(
        visitor=Visitor(
            verified=verified,
            external_id=_text_or_none(visitor, "externalId") if verified else None,
            email=_text_or_none(visitor, "email"),
            name=_text_or_none(visitor, "name"),
        ),
        conversation_id=_text_or_none(sent, "conversationId") or "",
        tool_call_id=tool_call_id,
        risk=_text_or_none(sent, "risk") or "low",
        approved_by=_text_or_none(sent, "approvedBy"),
        raw=sent,
    )


def _text(sent: dict[str, Json], name: str) -> str:
    found = _text_or_none(sent, name)
    if not found:
        raise _invalid(f"The body has no {name}.")
    return found


def _text_or_none(sent: dict[str, Json], name: str) -> str | None:
    found = sent.get(name)
    if found is None or isinstance(found, str):
        return found
    raise _invalid(f"{name} must be text.")


def _object(sent: dict[str, Json], name: str) -> dict[str, Json]:
    found = sent.get(name)
    if found is None:
        return {}
    if isinstance(found, dict):
        return found
    raise _invalid(f"{name} must be an object.")


def _invalid(message: str) -> ToolError:
    return ToolError("invalid_call", message, status=400)
