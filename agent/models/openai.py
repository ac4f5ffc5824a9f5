"""Models reached over an OpenAI-compatible chat completions API, which most providers and local servers speak.

The only place with a model's key. No retries and no judgement of arguments here: a turn decides what to do with them.
"""

import asyncio
import base64
import json
from collections.abc import Iterator, Sequence

import httpcore
import httpx

from agent.models.base import Answer, Message, ModelError, ToolSpec
from agent.models.connections import Connections
from agent.models.openai_answer import explanation, parse_answer
from median_site.lib.strict_json import Json

MAX_ANSWER_BYTES = 2_000_000
RETRYABLE_STATUSES = frozenset({408, 429})
_UNREACHABLE = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)


class OpenAIModel:
    """One model of one API, with its own connections; safe for concurrent use on one event loop."""

    is_demo = False

    def __init__(self, url: str, *, key: str, name: str) -> None:
        """`url` is the API's base, with or without /v1 or /chat/completions; `key` may be empty.

        Raises ValueError, without the key in it, for settings that could never work.
        """
        key = key.strip()
        if not name:
            raise ValueError("A model URL needs the name of the model as well.")
        if not (key.isascii() and key.isprintable()):
            raise ValueError("The model's key holds characters that no HTTP header can carry.")
        self.name = name
        self._key = key
        self._url = completions_url(url)
        self._headers = {
            "host": self._url.netloc.decode(),
            "user-agent": "Median",
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
        }
        if key:
            self._headers["authorization"] = f"Bearer {key}"
        self._connections = Connections(self._url)

    async def complete(self, messages: Sequence[Message], *, tools: Sequence[ToolSpec], deadline_s: float) -> Answer:
        """Ask once; see `Model.complete`."""
        body = request_body(messages, tools=tools, name=self.name)
        try:
            async with asyncio.timeout(deadline_s):
                status, content = await self._post(body)
        except TimeoutError:
            text = f"The model did not answer within {deadline_s:g} seconds."
            raise ModelError("timeout", text, retryable=True) from None
        except _UNREACHABLE as error:
            # The exception's own text may quote what was sent, so only its kind is told.
            text = f"The model at {self._url.host} could not be reached ({type(error).__name__})."
            raise ModelError("unreachable", text, retryable=True) from None
        if not 200 <= status < 300:
            raise self._status_error(status, content)
        return parse_answer(content, asked=self.name, secret=self._key)

    async def aclose(self) -> None:
        await self._connections.aclose()

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        """Status and body; reading stops, and the connection is closed, as soon as the body is too large."""
        url = httpcore.URL(
            scheme=self._url.raw_scheme, host=self._url.raw_host, port=self._url.port, target=self._url.raw_path
        )
        headers = [*self._headers.items(), ("content-length", str(len(body)))]
        async with self._connections.send(httpcore.Request("POST", url, headers=headers, content=body)) as response:
            encoding = b",".join(value for name, value in response.headers if name.lower() == b"content-encoding")
            if encoding.strip().lower() not in (b"", b"identity"):
                raise ModelError("bad_answer", "The model's API compressed its answer unasked.", retryable=True)
            content = bytearray()
            async for chunk in response.aiter_stream():
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    raise ModelError("too_large", "The model answered with too much to read.", retryable=False)
            return response.status, bytes(content)

    def _status_error(self, status: int, content: bytes) -> ModelError:
        try:
            detail = explanation(json.loads(content), secret=self._key)
        except (ValueError, RecursionError):
            detail = ""
        text = f"The model's API answered {status}" + (f": {detail}." if detail else ".")
        if status in (401, 403):
            return ModelError("refused", text, retryable=False)
        return ModelError("bad_status", text, retryable=status in RETRYABLE_STATUSES or status >= 500)


def completions_url(url: str) -> httpx.URL:
    """The full address of chat completions for an API's base address; raises ValueError when it is no web address."""
    try:
        parsed = httpx.URL(url.strip())
    except httpx.InvalidURL:
        raise ValueError("The model URL is not a valid address.") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError("The model URL must start with http:// or https:// and name a host.")
    if parsed.userinfo:
        raise ValueError("The model URL must hold no user or password; the key has a setting of its own.")
    path = parsed.path.rstrip("/") or "/v1"
    if not path.endswith("/chat/completions"):
        path += "/chat/completions"
    return parsed.copy_with(path=path)


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
    for message in messages:
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
