"""What a call of an MCP server's tool came to: structured content, its texts, or what it says went wrong. Pure."""

from dataclasses import replace

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, visible, visible_json
from tools import mcp_messages, outcomes
from tools.client import Answer, Failure
from tools.mcp_messages import Fault, ServerError
from tools.outcomes import Outcome


def from_answer(answer: Answer | Failure, *, call_id: str) -> Outcome:
    """What came back of the call, or of opening the session that it was to leave in."""
    if isinstance(answer, Failure) or not 200 <= answer.status < 300:
        return outcomes.from_answer(answer, kind="manifest")
    try:
        result = mcp_messages.result(answer, id=call_id)
    except ServerError as error:
        return outcomes.tool_error(str(error))
    except Fault as fault:
        broken = Failure(
            kind="broken_answer", status=answer.status, detail=str(fault)[:400], sent=True, elapsed_s=answer.elapsed_s
        )
        return outcomes.from_answer(broken, kind="manifest")
    text = _text(result)
    if result.get("isError") is True:
        return outcomes.tool_error(visible(text)[0], raw_text=visible(text)[0])
    return outcomes.from_answer(replace(answer, text=text, body=text.encode(errors="replace")), kind="manifest")


def _text(result: dict[str, Json]) -> str:
    structured, content = result.get("structuredContent"), result.get("content")
    if structured is not None:
        return strict_json.dumps(visible_json(structured))
    parts = content if isinstance(content, list) else []
    return "\n".join(_part(part) for part in parts if isinstance(part, dict))


def _part(part: dict[str, Json]) -> str:
    """A text as it is, a resource's too; of a picture, a sound or a link only that it came, and what names it."""
    kind, held = part.get("type"), part.get("resource")
    held = held if isinstance(held, dict) else part
    if kind == "text" or isinstance(held.get("text"), str):
        return str(held.get("text") or "")
    named = [kind or "something", held.get("mimeType"), held.get("uri")]
    return f"[{' '.join(str(name) for name in named if name)}]"
