"""Mail that no person wrote for us: automatic replies, lists, and reports of what could not be delivered. Pure."""

import re
from collections.abc import Iterator
from email.message import Message
from typing import Final, NamedTuple

_BULK: Final = {"bulk", "list", "junk", "auto_reply", "auto-reply"}
_HEADERS: Final = (
    "list-id", "list-unsubscribe-post", "x-autoreply", "x-autorespond", "x-autoresponder", "x-mailer-daemon",
    "x-failed-recipients", "x-auto-response-from", "x-loop",
)  # fmt: skip
_SUBJECTS: Final = re.compile(
    r"^(re:\s*|aw:\s*)*(automatic reply|auto-?reply|auto:|out of (the )?office|abwesenheitsnotiz|automatische antwort"
    r"|réponse automatique|respuesta automática|resposta automática|risposta automatica|automatisch antwoord"
    r"|automatiskt svar|autosvar|odpowiedź automatyczna|автоответ|автоматический ответ|otomatik yanıt|自动回复"
    r"|自動返信)\b",
    re.IGNORECASE,
)
_DAEMONS: Final = (
    "mailer-daemon@",
    "postmaster@",
    "mail-daemon@",
    "noreply@",
    "no-reply@",
    "donotreply@",
    "do-not-reply@",
)
_OURS: Final = re.compile(rb"<([a-z0-9]{20,40}\.median@[A-Za-z0-9.-]+)>")
_SCANNED: Final = 200_000  # bytes of a report in which the id of the mail it is about stands


class Bounce(NamedTuple):
    """A report that a mail was not delivered. `reports` are ids of mails it is about."""

    reason: str
    is_final: bool
    reports: tuple[str, ...]


def why(message: Message, *, sender: str, subject: str) -> str:
    """Why nobody is to be answered, as a word for the record; empty for mail of a person."""
    submitted = str(message.get("Auto-Submitted", "")).partition(";")[0].strip().lower()
    if submitted and submitted != "no":
        return f"Auto-Submitted: {submitted}"[:100]
    precedence = str(message.get("Precedence", "")).strip().lower()
    if precedence in _BULK:
        return f"Precedence: {precedence}"
    named = next((name for name in _HEADERS if name in message), "")
    if named:
        return named
    if str(message.get("X-Auto-Response-Suppress", "")).strip().lower() in {"all", "oof, autoreply"}:
        return "X-Auto-Response-Suppress"
    if str(message.get("Return-Path", "-")).strip() == "<>":
        return "no return path"
    if message.get_content_type() == "multipart/report":  # that a mail was read, or called spam
        return "a report"
    if not sender:
        return "no sender"
    if sender.lower().startswith(_DAEMONS):
        return "a sender that reads nothing"
    return "a subject of automatic replies" if _SUBJECTS.match(subject) else ""


def bounce(message: Message, *, raw: bytes, sender: str) -> Bounce | None:
    """The report that this mail is, by RFC 3464 or by what mail servers write instead; None for any other mail."""
    fields = list(_status_fields(message))
    ours = tuple(dict.fromkeys(found.decode() for found in _OURS.findall(raw[:_SCANNED])))
    if fields:
        of = next((each for each in fields if _said(each, "Action")), fields[-1])
        status, action = _said(of, "Status"), _said(of, "Action").lower()
        reason = " ".join(_said(of, "Diagnostic-Code").partition(";")[2].split()) or f"status {status or 'unknown'}"
        return Bounce(reason[:200], action == "failed" or status.startswith("5."), ours)
    if str(message.get("X-Failed-Recipients", "")).strip() or (sender.lower().startswith(_DAEMONS[:3]) and ours):
        return Bounce("the mail server gave no reason", is_final=True, reports=ours)
    return None


def _status_fields(message: Message) -> Iterator[Message]:
    """The blocks of a delivery status: one about the mail server, one for each recipient."""
    for number, part in enumerate(message.walk()):
        if number > 50:
            return
        if part.get_content_type() == "message/delivery-status" and isinstance(part.get_payload(), list):
            yield from (block for block in part.get_payload() if isinstance(block, Message))


def _said(block: Message, name: str) -> str:
    return str(block.get(name, "")).strip()
