"""A raw mail as what this app needs of it. Pure, and it never raises: a mail that nobody can read is kept as a file.

Nothing that a mail says is believed here: who it is from is a claim, like everything else in it.
"""

import hashlib
import re
from dataclasses import dataclass, field, replace
from email import policy
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.utils import collapse_rfc2231_value, getaddresses
from mimetypes import guess_extension
from typing import Final

from mail import automatic, html_text, quoting
from mail.automatic import Bounce
from mail.quoting import Split
from tools import bodies

SIZE_LIMIT: Final = 25 * 1024**2
_MOST_PARTS: Final = 200
_DEEPEST: Final = 20
# Python's parser makes objects of every line and header, and reads some in the square of their length.
_MOST_LINES: Final = 500_000
_MOST_HEADERS: Final = 1_000  # of one part
_HEADER_LIMIT: Final = 20_000
_ID: Final = re.compile(r"<\s*([^<>\s]+(?:\s+[^<>\s]+)*)\s*>")
_MOST_IDS: Final = 100
_ID_LIMIT: Final = 900
_ADDRESS_LIMIT: Final = 254  # RFC 5321
_ADDRESS: Final = re.compile(r"[^\s@<>\"(),:;\\\[\]]{1,64}@[^\s@<>\"(),:;\\\[\]]{1,250}")
_RECIPIENTS: Final = ("To", "Cc", "Delivered-To", "X-Original-To", "Envelope-To", "X-Forwarded-To")
_LEFT_OUT: Final = {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
# Characters of one part's text that are read: far more than people write.
_TEXT_LIMIT: Final = 1_000_000
_UNSURE: Final = {"us-ascii", "ascii", "iso-8859-1", "latin1"}
UNREADABLE: Final = "(This mail could not be read. It is attached as it came.)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A mail that came. `digest` is the same for copies of one mail, whichever way they took.

    `sender` is lower case, empty when there is none; `references` has every id it answers, the nearest first.
    `automatic` says why nobody is to be answered, empty for a person's mail.
    """

    digest: str
    message_id: str = ""
    references: tuple[str, ...] = ()
    sender: str = ""
    sender_name: str = ""
    recipients: tuple[str, ...] = ()
    subject: str = ""
    said: str = ""
    quoted: str = ""
    files: list[tuple[str, bytes]] = field(default_factory=list)
    automatic: str = ""
    bounce: Bounce | None = None


def parse(raw: bytes) -> Incoming:
    """The mail in these bytes, of at most SIZE_LIMIT, which the caller has checked."""
    raw = raw.lstrip(b"\xef\xbb\xbf\r\n")  # what a program that hands it in may put before its first header
    try:
        if max(raw.count(b"\n"), raw.count(b"\r")) > _MOST_LINES:
            raise ValueError("more lines than a mail has")
        message: Message = BytesParser(_Part, policy=policy.compat32).parsebytes(raw)
        body = _Body()
        body.read(message, depth=0)
        split, files = body.split(), body.files
    except (RecursionError, ValueError, TypeError, LookupError, AttributeError, HeaderParseError):
        message = BytesHeaderParser(_Part, policy=policy.compat32).parsebytes(raw[:200_000])
        split, files = Split(UNREADABLE, ""), [("message.eml", raw)]
    senders = _addresses(message, "From") or _addresses(message, "Sender")
    name, sender = senders[0] if senders else ("", "")
    subject = _text(message, "Subject")
    return Incoming(
        digest=_digest(message, split, files),
        message_id=next(iter(_ids(message, "Message-ID")), ""),
        references=_references(message),
        sender=sender,
        sender_name="" if "@" in name else name[:150],  # a name that looks like an address is there to deceive
        recipients=tuple(dict.fromkeys(address for each in _RECIPIENTS for _, address in _addresses(message, each))),
        subject=subject[:300],
        said=split.said,
        quoted=split.quoted,
        files=files,
        automatic=automatic.why(message, sender=sender, subject=subject),
        bounce=automatic.bounce(message, raw=raw, sender=sender),
    )


def delivered_to(mail: Incoming, recipient: str) -> Incoming:
    """The mail, with an address that its headers may not name: whoever handed it in knows."""
    return replace(mail, recipients=(recipient, *mail.recipients))


class _Part(Message):
    """A mail or a part of one, without what its headers have beyond any that people's programs write. What is not
    ASCII in them stands there unencoded, as some programs do."""

    def set_raw(self, name: str, value: str) -> None:
        if len(self) < _MOST_HEADERS:
            super().set_raw(name, _guessed(value[:_HEADER_LIMIT].encode("utf-8", "surrogateescape")))


class _Body:
    """What the parts of a mail come to: its text, plain or of HTML, and its files, in their order."""

    def __init__(self) -> None:
        self.files: list[tuple[str, bytes]] = []
        self._texts: list[Split] = []
        self._parts = 0

    def split(self) -> Split:
        said, quoted = (
            ([part for part in parts if part] for parts in zip(*self._texts, strict=True)) if self._texts else ([], [])
        )
        return Split("\n\n".join(said), "\n\n".join(quoted))

    def read(self, part: Message, *, depth: int) -> None:
        self._parts += 1
        if self._parts > _MOST_PARTS or depth > _DEEPEST:
            raise ValueError("more parts than a mail has")
        kind = part.get_content_type()
        children = [child for child in _payload(part) if isinstance(child, Message)]
        if kind == "multipart/alternative" and children:
            self._alternative(children, depth=depth)
        elif part.is_multipart() and not kind.startswith("message/"):
            for child in children:
                self.read(child, depth=depth + 1)
        elif kind in {"text/plain", "text/html"} and not _is_file(part) or kind.startswith("multipart/"):
            self._texts.append(_split(part))
        elif kind not in _LEFT_OUT | {"message/delivery-status", "text/rfc822-headers"}:
            self.files.append((_file_name(part), _data(part)))

    def _alternative(self, children: list[Message], *, depth: int) -> None:
        """The plain text, unless it says nothing; and the files of every alternative."""
        read = []
        for child in children:
            each = _Body()
            each._parts = self._parts
            each.read(child, depth=depth + 1)
            self._parts = each._parts
            self.files += each.files
            read.append((child.get_content_type() != "text/plain", each.split()))
        plain_first = sorted(read, key=lambda found: found[0])
        told = next((split for _, split in plain_first if split.said), plain_first[0][1])
        self._texts.append(told)


def _split(part: Message) -> Split:
    text = _decoded(part)[:_TEXT_LIMIT]
    if part.get_content_type() == "text/html":
        by_markup = html_text.split(text)
        said, quoted = quoting.split(by_markup.said)
        return Split(said, "\n\n".join(filter(None, (quoted, by_markup.quoted))))
    if str(part.get_param("format", "")).lower() == "flowed":
        text = _unflowed(text, drops_space=str(part.get_param("delsp", "")).lower() == "yes")
    return quoting.split(text)


def _decoded(part: Message) -> str:
    """The declared charset if Python knows it, else UTF-8; what cannot be decoded becomes U+FFFD.

    What calls itself ASCII or Latin-1 is as a rule UTF-8 or Windows-1252, which are more than those.
    """
    data = part.get_payload(decode=True)
    data = data if isinstance(data, bytes) else b""
    named = str(part.get_content_charset() or "utf-8")
    if named in _UNSURE:
        return _guessed(data)
    return data.decode(bodies.charset(named), "replace").removeprefix("\ufeff")


def _guessed(data: bytes) -> str:
    """UTF-8, or else what older programs write."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("windows-1252", "replace")


def _unflowed(text: str, *, drops_space: bool) -> str:
    """Lines that a mail program broke, as the paragraphs they were (RFC 3676). Quoted lines stay as they are."""
    joined: list[str] = []
    goes_on = False
    for line in text.replace("\r\n", "\n").split("\n"):
        is_quote = line.startswith(">")
        unstuffed = line.removeprefix(" ") if not is_quote else line
        if goes_on and not is_quote:
            joined[-1] += unstuffed
        else:
            joined.append(unstuffed)
        goes_on = line.endswith(" ") and line != "-- " and not is_quote
        if goes_on and drops_space:
            joined[-1] = joined[-1][:-1]
    return "\n".join(joined)


def _is_file(part: Message) -> bool:
    return str(part.get("Content-Disposition", "")).strip().lower().startswith("attachment") or bool(
        part.get_filename()
    )


def _file_name(part: Message) -> str:
    given = part.get_filename() or part.get_param("name") or ""
    name = _decode_words(collapse_rfc2231_value(given) if isinstance(given, tuple | str) else "")
    if name:
        return name
    kind = part.get_content_type()
    return ("message" if kind == "message/rfc822" else "file") + (
        ".eml" if kind == "message/rfc822" else guess_extension(kind) or ""
    )


def _data(part: Message) -> bytes:
    inner = _payload(part)
    if part.get_content_type() == "message/rfc822" and inner and isinstance(inner[0], Message):
        return inner[0].as_bytes()
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _payload(part: Message) -> list[object]:
    payload = part.get_payload()
    return list(payload) if isinstance(payload, list) else []


def _values(message: Message, name: str) -> list[str]:
    """A header's values, each on one line."""
    return [" ".join(str(each).split()) for each in message.get_all(name, [])]


def _text(message: Message, name: str) -> str:
    return _decode_words(next(iter(_values(message, name)), ""))


def _decode_words(value: str) -> str:
    """A header's encoded words, read, on one line."""
    try:
        read = str(make_header(decode_header(value)))
    except (HeaderParseError, LookupError, ValueError, TypeError):
        read = value
    return " ".join(read.encode("utf-8", "replace").decode().split())


def _addresses(message: Message, name: str) -> list[tuple[str, str]]:
    """Names and addresses of a header, those that are addresses; a name is read only after it was told from one."""
    values = _values(message, name)[:50]
    try:
        found = [(_decode_words(shown), address.strip().lower()) for shown, address in getaddresses(values)]
    except RecursionError:  # brackets within brackets
        found = []
    if not any(address for _, address in found):  # headers that break the grammar, and still name somebody
        found = [("", each.lower()) for value in values for each in _ADDRESS.findall(value)]
    return [(shown, address) for shown, address in found if _is_address(address)]


def _is_address(text: str) -> bool:
    return len(text) <= _ADDRESS_LIMIT and text.isprintable() and bool(_ADDRESS.fullmatch(text))


def _references(message: Message) -> tuple[str, ...]:
    answered, listed = _ids(message, "In-Reply-To"), _ids(message, "References")
    return tuple(dict.fromkeys([*answered, *reversed(listed)]))[:_MOST_IDS]


def _ids(message: Message, name: str) -> list[str]:
    """Ids in angle brackets, however they are folded and parted; one without brackets is taken as it is."""
    value = " ".join(_values(message, name)).replace("\0", "")
    found = ["".join(each.split()) for each in _ID.findall(value)]
    bare = [value] if "@" in value and " " not in value else []
    return [each[:_ID_LIMIT] for each in found or bare]


def _digest(message: Message, split: Split, files: list[tuple[str, bytes]]) -> str:
    """By what its writer wrote, and not by how it came: servers on the way add headers. A broken program's second mail
    with a former one's id is another mail."""
    parts = [str(message.get(name, "")) for name in ("Message-ID", "From", "Date", "Subject")]
    parts += [split.said, *(f"{name}:{len(data)}" for name, data in files)]
    return hashlib.sha256("\0".join(" ".join(part.split()) for part in parts).encode("utf-8", "replace")).hexdigest()
