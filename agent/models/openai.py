"""Models reached over an OpenAI-compatible chat completions API, which most providers and local servers speak.

The only place with a model's key. No retries and no judgement of arguments here: a turn decides what to do with them.
"""

import asyncio
import json
import re
from collections.abc import Sequence

import httpcore
import httpx

from agent.models.base import Answer, Message, ModelError, ToolSpec
from agent.models.connections import Connections
from agent.models.openai_answer import explanation, parse_answer
from agent.models.openai_request import request_body

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
                status, pause_s, content = await self._post(body)
        except TimeoutError:
            text = f"The model did not answer within {deadline_s:g} seconds."
            raise ModelError("timeout", text, retryable=True) from None
        except _UNREACHABLE as error:
            # The exception's own text may quote what was sent, so only its kind is told.
            text = f"The model at {self._url.host} could not be reached ({type(error).__name__})."
            raise ModelError("unreachable", text, retryable=True) from None
        if not 200 <= status < 300:
            raise self._status_error(status, content, pause_s=pause_s)
        return parse_answer(content, asked=self.name, secret=self._key)

    async def aclose(self) -> None:
        await self._connections.aclose()

    async def _post(self, body: bytes) -> tuple[int, float, bytes]:
        """Status, the pause that is asked for, and body; of too large a body no more is read."""
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
            return response.status, _pause_s(response.headers), bytes(content)

    def _status_error(self, status: int, content: bytes, *, pause_s: float) -> ModelError:
        try:
            detail = explanation(json.loads(content), secret=self._key)
        except (ValueError, RecursionError):
            detail = ""
        text = f"The model's API answered {status}" + (f": {detail}." if detail else ".")
        if status in (401, 403):
            return ModelError("refused", text, retryable=False)
        may_work = status in RETRYABLE_STATUSES or status >= 500
        return ModelError("bad_status", text, retryable=may_work, pause_s=pause_s if may_work else 0)


def _pause_s(headers: Sequence[tuple[bytes, bytes]]) -> float:
    """What Retry-After says in seconds; 0 for a date, which a clock that is off would misread, and without it."""
    said = next((value for name, value in headers if name.lower() == b"retry-after"), b"")
    return float(said) if re.fullmatch(rb"\d{1,6}(\.\d{1,6})?", said.strip()) else 0


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
