"""What a call came to: its state, the published sentence, what is stored, and what the model is told. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from median_site.lib import strict_json
from median_site.lib.strict_json import Json, JsonError, visible, visible_json
from median_site.lib.text import excerpt
from tools.client import Answer, Failure

ToolKind = Literal["manifest", "http"]

NO_LONGER_AVAILABLE: Final = "The tool is no longer available."
NO_LONGER_FITS: Final = "The tool changed after this was requested, and the input no longer fits it."
TIMED_OUT: Final = "The endpoint did not answer in time."
REDIRECTED: Final = "The endpoint redirected, which tool calls never follow."
TOO_MUCH: Final = "The endpoint answered with too much to read."
NO_RESULT: Final = "The tool returned no result. Check whether the action completed before retrying."
REQUEST_FAILED: Final = "The tool request failed. Check the result before retrying."
BLOCKED_ADDRESS: Final = "The endpoint's address is not public, so nothing was sent."

UNKNOWN_TOOL_FOR_MODEL: Final[dict[str, Json]] = {"status": "error", "kind": "unknown-tool"}

DEFAULT_REASON: Final = "tool_refused"
NOT_AGAIN: Final = "The tool said no. Tell the customer what it means, and do not call it again for the same thing."

# What a failure without an error status is called: on the card, and to the model about an HTTP tool.
_FAILURES: Final[Mapping[str, tuple[str, str]]] = {
    "timed_out": (TIMED_OUT, "timed-out"),
    "unreachable": (TIMED_OUT, "transport-error"),
    "blocked_address": (BLOCKED_ADDRESS, "transport-error"),
    "redirected": (REDIRECTED, "refused"),
    "too_big": (TOO_MUCH, "response-too-big"),
    "broken_answer": (NO_RESULT, "transport-error"),
    "bad_encoding": (NO_RESULT, "transport-error"),
}
# Failures after which the action may have been done all the same, unless their detail is client.NOTHING_SENT.
MAY_HAVE_HAPPENED: Final = ("timed_out", "too_big", "broken_answer", "bad_encoding", "no_result", "request_failed")
_WITH_STATUS: Final = {"redirected", "too_big"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """The tool ran and said no."""

    reason: str
    detail: str

    def as_json(self) -> dict[str, Json]:
        return {"reason": self.reason, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`code` and `sentence` are those of a failure, "" when completed; `detail` says more, for the fine print.

    `result` is the parsed JSON, or the text that is none. Everything here can be stored in PostgreSQL.
    """

    state: Literal["completed", "failed"]
    code: str = ""
    sentence: str = ""
    detail: str = ""
    http_status: int | None = None
    refusal: Refusal | None = None
    result: Json = None
    raw_text: str = ""
    raw_flags: list[str] = field(default_factory=list)
    for_model: Json


def from_answer(answer: Answer | Failure, *, kind: ToolKind) -> Outcome:
    """What came back of a call that was sent, or was to be."""
    if isinstance(answer, Failure):
        sentence, http_kind = _FAILURES[answer.kind]
        status = answer.status if answer.kind in _WITH_STATUS else None
        detail = "" if answer.kind == "blocked_address" else answer.detail  # the sentence says it all
        return _failed(answer.kind, sentence, kind=kind, http_kind=http_kind, status=status, detail=detail)
    raw_text, raw_flags = _raw(answer)
    if not 200 <= answer.status < 300:
        http_kind = "refused" if answer.body or answer.truncated else "returned-nothing"
        return _failed(
            "bad_status",
            _bad_status(answer.status, raw_text),
            kind=kind,
            http_kind=http_kind,
            status=answer.status,
            raw_text=raw_text,
            raw_flags=raw_flags,
        )
    result = stored_result(raw_text)
    refusal = refusal_in(result)
    # What an HTTP tool answers goes to the model as it is; it knows nothing of our refusals.
    told = {"refused": True, **refusal.as_json(), "note": NOT_AGAIN} if refusal and kind == "manifest" else result
    return Outcome(
        state="completed",
        http_status=answer.status,
        refusal=refusal,
        result=result,
        raw_text=raw_text,
        raw_flags=raw_flags,
        for_model=told,
    )


def stored_result(raw_text: str) -> Json:
    """The result in a raw text: the JSON that it is, else the text; "" for an empty one, which is a valid result."""
    if not raw_text.strip():
        return ""
    try:
        return visible_json(strict_json.loads(raw_text))
    except JsonError:
        return raw_text


def refusal_in(result: Json) -> Refusal | None:
    """The refusal that a result is, if it is one."""
    if not isinstance(result, dict):
        return None
    no = any(result.get(key) is False for key in ("ok", "known", "allowed"))
    if not no and result.get("outcome") not in ("blocked", "unknown"):
        return None
    return Refusal(_words(result.get("reason")) or DEFAULT_REASON, _words(result.get("detail")))


def no_longer_available(*, kind: ToolKind = "manifest") -> Outcome:
    """Switched off, removed or moved to another endpoint after it was asked for. Nothing was sent."""
    return _failed("no_longer_available", NO_LONGER_AVAILABLE, kind=kind, http_kind="unknown-tool")


def no_longer_fits(*, kind: ToolKind = "manifest") -> Outcome:
    """The tool's schema changed so that the input that was asked for is none any more. Nothing was sent."""
    return _failed("no_longer_fits", NO_LONGER_FITS, kind=kind, http_kind="unknown-tool")


def no_result(*, kind: ToolKind = "manifest") -> Outcome:
    """The call was sent and never reported back."""
    return _failed("no_result", NO_RESULT, kind=kind, http_kind="transport-error")


def request_failed(*, kind: ToolKind = "manifest") -> Outcome:
    """Something broke on our side, perhaps after the call was sent."""
    return _failed("request_failed", REQUEST_FAILED, kind=kind, http_kind="transport-error")


def tool_error(said: str, *, raw_text: str = "") -> Outcome:
    """An MCP tool ran and reported an error, in its own words."""
    sentence = f"The endpoint answered an error. {_words(said)}".rstrip()
    return _failed("tool_error", sentence, kind="manifest", http_kind="refused", status=200, raw_text=raw_text)


def _failed(
    code: str,
    sentence: str,
    *,
    kind: ToolKind,
    http_kind: str,
    status: int | None = None,
    detail: str = "",
    raw_text: str = "",
    raw_flags: list[str] | None = None,
) -> Outcome:
    for_model: dict[str, Json] = {"error": sentence, "detail": detail} if code == "timed_out" else {"error": sentence}
    if kind == "http":
        for_model = {"status": "error", "kind": http_kind} | ({} if status is None else {"httpCode": status})
    return Outcome(
        state="failed",
        code=code,
        sentence=sentence,
        detail=visible(detail)[0],
        http_status=status,
        raw_text=raw_text,
        raw_flags=raw_flags or [],
        for_model=for_model,
    )


def _raw(answer: Answer) -> tuple[str, list[str]]:
    """The text to keep, and what had to be done to it."""
    text, changed = visible(answer.text)
    flags = {"bytes_replaced": answer.replaced, "characters_replaced": changed, "cut_short": answer.truncated}
    return text, [flag for flag, is_set in flags.items() if is_set]


def _bad_status(status: int, raw_text: str) -> str:
    """The sentence, then the code and message that came: "The endpoint answered 500. declined: No funds." """
    body = stored_result(raw_text)
    error = body.get("error") if isinstance(body, dict) else None
    said = [_words(error.get(key)) for key in ("code", "message")] if isinstance(error, dict) else []
    return " ".join([f"The endpoint answered {status}.", *filter(None, [": ".join(filter(None, said))])])


def _words(value: Json) -> str:
    """A text of an endpoint on one line, shortened; of anything but a text its JSON; "" of nothing."""
    if value is None or value == "":
        return ""
    return excerpt(value if isinstance(value, str) else strict_json.dumps(value), 500)
