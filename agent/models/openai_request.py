"""Makes the body of a chat completions request, in a shape that every server that speaks it takes. Pure.

What Median tells in the middle of a conversation is no system message there: some servers refuse one, others move it to
the beginning. It is a user message between tags, as the instructions say (agent.prompts).
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from agent.models.base import NOTICE, Message, ToolSpec
from median_site.lib.strict_json import Json

_TAG: Final = re.compile(rf"<(?=\s*/?\s*{NOTICE})", re.I)


def request_body(messages: Sequence[Message], *, tools: Sequence[ToolSpec], name: str) -> bytes:
    """The request's JSON; lone surrogates, which no UTF-8 can carry, leave as question marks."""
    body: dict[str, Json] = {"model": name, "messages": list(_wire_messages(messages)), "stream": False}
    if tools:
        body["tools"] = [_wire_tool(tool) for tool in tools]
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _wire_messages(messages: Sequence[Message]) -> Iterator[Json]:
    """Calls get new ids, handed to their results by position: a model's own ids may be missing or repeated.

    Nine letters and digits are an id that every provider takes.
    """
    issued = 0
    waiting: list[str] = []
    for message in _alternating(map(_outward, messages)):
        if message.role == "assistant" and message.tool_calls:
            waiting = [f"call{issued + place:05d}" for place in range(len(message.tool_calls))]
            issued += len(waiting)
            calls: list[Json] = [
                {
                    "id": wire_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": _sound_arguments(call.arguments)},
                }
                for wire_id, call in zip(waiting, message.tool_calls, strict=True)
            ]
            yield {"role": "assistant", "content": message.text or None, "tool_calls": calls}
        elif message.role == "tool":
            wire_id = waiting.pop(0) if waiting else message.tool_call_id or ""
            yield {"role": "tool", "content": message.text, "tool_call_id": wire_id}
        else:
            yield {"role": message.role, "content": _wire_content(message)}


def _outward(message: Message) -> Message:
    """A notice in the customer's role, between tags that nothing else can hold: in what customers and tools wrote, and
    a notice quotes, they lose their edge."""
    if message.role == "system":
        return message
    text = _TAG.sub("\u2039", message.text)
    if message.role == "notice":
        return replace(message, role="user", text=f"<{NOTICE}>\n{text}\n</{NOTICE}>")
    return replace(message, text=text)


def _alternating(messages: Iterable[Message]) -> Iterator[Message]:
    """One message where several follow each other in the system's or the customer's role, which some servers refuse."""
    for role, run in groupby(messages, key=lambda message: message.role):
        if role not in {"system", "user"}:
            yield from run
            continue
        together = list(run)
        pictures = tuple(picture for message in together for picture in message.pictures)
        yield Message(role, "\n\n".join(message.text for message in together if message.text), pictures=pictures)


def _wire_content(message: Message) -> Json:
    if not message.pictures:
        return message.text
    parts: list[Json] = [{"type": "text", "text": message.text}] if message.text else []
    for picture in message.pictures:
        data = base64.b64encode(picture.data).decode()
        parts.append({"type": "image_url", "image_url": {"url": f"data:{picture.media_type};base64,{data}"}})
    return parts


def _wire_tool(tool: ToolSpec) -> Json:
    function: dict[str, Json] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    return {"type": "function", "function": function}


def _sound_arguments(arguments: str | None) -> str:
    """Earlier arguments as a provider takes them back: broken ones, which many refuse, return as an empty object."""
    try:
        sound = isinstance(json.loads(arguments or ""), dict)
    except (ValueError, RecursionError):
        sound = False
    return arguments if sound and arguments else "{}"
