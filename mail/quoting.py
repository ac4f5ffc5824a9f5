"""A mail's text, told apart: what its writer says now, and what they quote of earlier mails. Pure.

A quoted "yes" is no consent: only the first part is ever taken for the writer's own words.
"""

import re
from typing import Final, NamedTuple

_INTRODUCTION_LINES: Final = 3  # that a mail program may break an introduction into

# How mail programs introduce what they quote, in the languages they speak. Each is matched on one line, or on up to
# three that belong together.
_INTRODUCTIONS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^on\b.{4,250}\bwrote\s*:$",
        r"^(am|em|el|le|il|op|den|d\.|dnia|w dniu)\b.{4,250}\b(schrieb|geschrieben|escreveu|escribió|escribio|a écrit"
        r"|a ecrit|ha scritto|schreef|skrev|napisał|pisze)\b.{0,120}:$",
        r"^.{3,200}<[^<>\s]+@[^<>\s]+>\s*(wrote|schrieb|escreveu|escribió|a écrit|ha scritto|schreef)\b.{0,120}:$",
        r"^\d{4}[-/.年].{4,200}<[^<>\s]+@[^<>\s]+>\s*[:：]$",
        # Of any other language: a year, a time and an address.
        r"^(?=.*(?<!\d)20\d\d(?!\d))(?=.*\d[:.]\d\d).{0,250}<[^<>\s]+@[^<>\s]+>.{0,60}[:：]$",
    )
)
_RULERS: Final = re.compile(
    r"^[-_\s]*(original message|original appointment|forwarded message|ursprüngliche nachricht"
    r"|weitergeleitete nachricht|mensagem original|mensagem encaminhada|mensaje original|mensaje reenviado"
    r"|message d['’]origine|message transféré|messaggio originale|oorspronkelijk bericht|исходное сообщение"
    r"|пересылаемое сообщение|元のメッセージ|原始邮件|原始郵件|원본 메일|orijinal ileti|původní zpráva|eredeti üzenet"
    r"|oryginalna wiadomość|wiadomość oryginalna|alkuperäinen viesti|ursprungligt meddelande|αρχικό μήνυμα"
    r"|reply message|reply above this line)[-_\s]*$"
    r"|^begin forwarded message:$|^-{3,}\s*on\b.{4,250}\bwrote\s*-{3,}$",
    re.IGNORECASE,
)
_LINE: Final = re.compile(r"^_{20,}$|^-{20,}$")
# Outlook quotes without any mark: a block of the former mail's headers, of which these two are always there.
_FROM: Final = re.compile(
    r"^\*?(from|von|de|da|van|fra|från|od|от|від|de la|kimden|gönderen|lähettäjä|feladó|από|差出人|发件人|寄件者"
    r"|보낸 ?사람)\s?\*?\s?[:：]\*?\s?\S",
    re.IGNORECASE,
)
_SENT: Final = re.compile(
    r"^\*?(sent|date|gesendet|datum|enviado|enviada em|enviado em|envoyé|date d'envoi|fecha|data|inviato|verzonden"
    r"|skickat|sendt|wysłano|отправлено|дата|надіслано|trimis|gönderildi|tarih|lähetetty|odesláno|elküldve"
    r"|στάλθηκε|送信日時|日付|发送时间|日期|寄件日期|보낸 ?날짜)\s?\*?(\sel|\sem)?\s?[:：]\*?\s?\S",
    re.IGNORECASE,
)


class Split(NamedTuple):
    """`said` is the writer's own text, `quoted` what stands below or between it of earlier mails."""

    said: str
    quoted: str


def split(text: str) -> Split:
    """Everything from the first introduction on is quoted, and so is every line that begins with ">".

    Answers between quoted lines stay the writer's own. A text that is nothing but a quote says nothing.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    end = next((number for number in range(len(lines)) if _begins_quote(lines, number)), len(lines))
    introducing = {at + more for at in range(end) for more in range(_introduction(lines, at))}
    is_quoted = [at >= end or at in introducing or _is_marked(lines, at) for at in range(len(lines))]
    said = [line for line, quoted in zip(lines, is_quoted, strict=True) if not quoted]
    quoted = [line for line, quoted in zip(lines, is_quoted, strict=True) if quoted]
    return Split(_tidy(said), _tidy(quoted))


def _begins_quote(lines: list[str], number: int) -> bool:
    line = lines[number].strip()
    if not line:
        return False
    if _RULERS.match(line) or _is_header_block(lines, number):
        return True
    if _LINE.match(line):
        return _is_header_block(lines, _next(lines, number + 1))
    length = _introduction(lines, number)
    # With marked lines below, what is written under them may be an answer.
    return bool(length) and not _is_marked(lines, _next(lines, number + length))


def _introduction(lines: list[str], number: int) -> int:
    """How many lines from here on are one introduction; 0: none."""
    joined = ""
    for count in range(1, _INTRODUCTION_LINES + 1):
        part = lines[number + count - 1].strip() if number + count <= len(lines) else ""
        if not part:
            return 0
        joined = f"{joined} {part}".strip()
        if len(joined) > 400:
            return 0
        if part.endswith((":", "：")) and any(pattern.match(joined) for pattern in _INTRODUCTIONS):
            return count
    return 0


def _is_header_block(lines: list[str], number: int) -> bool:
    """A line that says from whom, and within the next ones when it was sent."""
    if number >= len(lines) or not _FROM.match(lines[number].strip()):
        return False
    return any(_SENT.match(line.strip()) for line in lines[number + 1 : number + 5])


def _is_marked(lines: list[str], number: int) -> bool:
    return number < len(lines) and lines[number].lstrip().startswith(">")


def _next(lines: list[str], number: int) -> int:
    """The next line that is not empty."""
    while number < len(lines) and not lines[number].strip():
        number += 1
    return number


def _tidy(lines: list[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")
