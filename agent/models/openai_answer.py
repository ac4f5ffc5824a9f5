"""Reads the body of a chat completions answer, however oddly it is made. Pure; every fault is a ModelError."""

import json
from typing import Literal, NoReturn

from agent.models.base import Answer, ModelError, ToolCall
from median_site.lib import strict_json

MAX_DETAIL = 200
SPOKEN = ("text", "output_text", "refusal")
FINISHES: dict[str, Literal["stop", "tool_calls", "length"]] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
}


def parse_answer(content: bytes, *, asked: str, secret: str) -> Answer:
    """The answer in a 2xx body; `asked` stands in when the API does not name its model. Raises ModelError."""
    if content.lstrip().startswith((b"data:", b"event:", b": ")):
        _broken("it is a stream, which was not asked for")
    try:
        return _answer(json.loads(content), asked=asked, secret=secret)
    except (ValueError, RecursionError):
        _broken("it is not sound JSON")


def explanation(body: object, *, secret: str) -> str:
    """The API's own words about a failure, at most 200 characters on one line; "" when it gave none.

    Some APIs quote a key they do not like, so `secret` is masked in them.
    """
    error = body.get("error") if isinstance(body, dict) else None
    words = error.get("message") if isinstance(error, dict) else error
    if not isinstance(words, str):
        return ""
    masked = words.replace(secret, "[key]") if secret else words
    return " ".join(strict_json.visible(masked)[0].split())[:MAX_DETAIL].rstrip(".")


def _answer(body: object, *, asked: str, secret: str) -> Answer:
    if not isinstance(body, dict):
        _broken("it is not a JSON object")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        # Gateways report failures of the provider behind them with status 200.
        _broken(explanation(body, secret=secret) or "it holds no choices")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        _broken("its first choice holds no message")
    calls = _calls(message.get("tool_calls"))
    model = body.get("model")
    return Answer(
        text=_text(message),
        tool_calls=calls,
        finish=_finish(choice.get("finish_reason"), has_calls=bool(calls)),
        model=model if isinstance(model, str) and model else asked,
    )


def _broken(detail: str) -> NoReturn:
    raise ModelError("bad_answer", f"The model's answer could not be read: {detail}.", retryable=True) from None


def _text(message: dict[str, object]) -> str:
    """Content as text: a string, null, or a list of parts, of which only the spoken ones count; else the refusal.

    A model's thoughts are for nobody, be they a part of their own or what some servers leave at the beginning.
    """
    content, refusal = message.get("content"), message.get("refusal")
    if not (content is None or isinstance(content, str | list)):
        _broken("its content is neither text nor a list of parts")
    parts = content if isinstance(content, list) else [content]
    texts = [_spoken(part) if isinstance(part, dict) else part for part in parts]
    text = _without_thoughts(strict_json.visible("".join(text for text in texts if isinstance(text, str)))[0])
    return text if text or not isinstance(refusal, str) else refusal


def _spoken(part: dict[str, object]) -> object:
    return part.get("text", part.get("refusal")) if part.get("type", "text") in SPOKEN else None


def _without_thoughts(text: str) -> str:
    """The text after its thoughts. Some servers leave out the first tag, and an answer that was cut off has no last."""
    thoughts, last, rest = text.partition("</think>")
    begins = thoughts.lstrip().startswith("<think>")
    if last and thoughts.count("<think>") == begins:
        return rest.lstrip()
    return "" if begins and not last else text


def _calls(listed: object) -> tuple[ToolCall, ...]:
    if listed is None:
        return ()
    if not isinstance(listed, list):
        _broken("its tool calls are not a list")
    return tuple(_call(entry) for entry in listed)


def _call(entry: object) -> ToolCall:
    function = entry.get("function") if isinstance(entry, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(entry, dict) or not isinstance(function, dict) or not isinstance(name, str):
        _broken("one of its tool calls names no function")
    own_id = entry.get("id")
    arguments = function.get("arguments")
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=own_id if isinstance(own_id, str) else "", name=name, arguments=arguments)


def _finish(reason: object, *, has_calls: bool) -> Literal["stop", "tool_calls", "length", "other"]:
    finish = FINISHES.get(reason) if isinstance(reason, str) else None
    if has_calls and (finish == "stop" or reason is None):
        return "tool_calls"  # several servers give no reason, or "stop", with calls
    return finish or "other"
