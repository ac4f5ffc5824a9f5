"""IMAP, as far as mail is fetched by it: a folder's mails, listed and read. The wire alone; nothing is stored here.

The host keeps to the rules of outbound calls, each answer to a limit, and the whole conversation to one deadline.
"""

import base64
import imaplib
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from mail.models import Security
from median_site.lib.env import Network
from tools import addresses
from tools.addresses import Address, BlockedAddress

_ANSWER_S: Final = 15  # until a server that says nothing is given up
_ADDRESSES: Final = 4  # of a host that are tried
_CLOCKS: Final = timedelta(minutes=5)  # by which the server's clock may be slow
_LISTING: Final = 8_000_000  # bytes of an answer that is no mail
_SERVERS_WORDS: Final = 150
_UID: Final = re.compile(rb"\bUID (\d+)")
_SIZE: Final = re.compile(rb"\bRFC822\.SIZE (\d+)")
_DATE: Final = re.compile(rb'\bINTERNALDATE "([^"]+)"')
_REPEATED: Final = re.compile(r"""\[b['"](.*)['"]\]$""")  # the server's words within Python's own
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NOT_ASCII: Final = re.compile(r"&|[^\x20-\x7e]+")


class MailboxError(Exception):
    """A mailbox could not be read; the message is a sentence for the people who set it up, and holds no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    host: str
    port: int
    security: str
    username: str
    password: str = field(repr=False)


class Fetched(NamedTuple):
    """A mail as it came, or its beginning: `size` is that of the whole."""

    raw: bytes
    size: int


class Folder:
    """One that is open. Its mails are named by numbers that only grow, as long as `uid_validity` stays."""

    def __init__(self, wire: "_Wire") -> None:
        self._wire = wire
        self.uid_validity = self._number("UIDVALIDITY")
        # The next mail's number; 0 if the server does not say.
        self.next_uid = self._number("UIDNEXT")

    def after(self, uid: int) -> list[int]:
        """The numbers of the mails that came after that one, the oldest first."""
        if self.next_uid and self.next_uid <= uid + 1:
            return []
        return [each for each in self._found(f"UID {uid + 1}:*") if each > uid]

    def since(self, moment: datetime) -> list[int]:
        """Those that came since then, or a little earlier, since the server's clock is another one. Servers search by
        days alone, and of their own zone."""
        moment -= _CLOCKS
        day = (moment - timedelta(days=1)).astimezone(UTC)
        uids = self._found(f"SINCE {day.day}-{_MONTHS[day.month - 1]}-{day.year}")
        if not uids:
            return []
        dates = self._fetched(",".join(map(str, uids)), "(UID INTERNALDATE)", most=_LISTING)
        came = {int(uid[1]): date for line in dates if (uid := _UID.search(line)) and (date := _date(line))}
        return [uid for uid in uids if uid not in came or came[uid] >= moment]

    def fetch(self, uid: int, *, most: int) -> Fetched | None:
        """The mail, or of a larger one its first `most` bytes; None if it is gone. It is not marked as read."""
        sizes = [_SIZE.search(line) for line in self._fetched(str(uid), "(UID RFC822.SIZE)", most=_LISTING)]
        size = next((int(found[1]) for found in sizes if found), None)
        if size is None:
            return None
        part = "BODY.PEEK[]" if size <= most else f"BODY.PEEK[]<0.{most}>"
        self._wire.left = most + _LISTING
        answer = self._wire.asked("FETCH", str(uid), f"({part})")
        raw = next((each[1] for each in answer if isinstance(each, tuple)), b"")
        return Fetched(raw, max(size, len(raw)))

    def mark_seen(self, uid: int) -> None:
        """If the server lets us: some folders are for reading alone."""
        self._wire.left = _LISTING
        self._wire.uid("STORE", str(uid), "+FLAGS.SILENT", r"(\Seen)")

    def _found(self, criteria: str) -> list[int]:
        self._wire.left = _LISTING
        answer = self._wire.asked("SEARCH", criteria)
        return sorted(_number(each) for line in answer if isinstance(line, bytes) for each in line.split())

    def _fetched(self, uids: str, what: str, *, most: int) -> list[bytes]:
        self._wire.left = most
        return [each if isinstance(each, bytes) else each[0] for each in self._wire.asked("FETCH", uids, what)]

    def _number(self, name: str) -> int:
        said = self._wire.response(name)[1]
        return _number(said[-1]) if said and isinstance(said[-1], bytes) and said[-1].isdigit() else 0


@contextmanager
def opened(login: Login, *, folder: str, allowed_networks: Sequence[Network], within_s: float) -> Iterator[Folder]:
    """The folder, for reading and for marking as read. Raises MailboxError, also for what happens while it is open."""
    try:
        line = _Line(_dialled(login, allowed_networks=allowed_networks))
    except (OSError, BlockedAddress) as error:
        raise MailboxError(_why(error, login)) from error
    alarm = threading.Timer(within_s, line.cut)
    alarm.daemon = True
    alarm.start()
    wire: _Wire | None = None
    try:
        wire = _Wire(login, line)
        _enter(wire, login, folder=folder)
        yield Folder(wire)
        with suppress(OSError, imaplib.IMAP4.error):
            wire.logout()
    except (OSError, imaplib.IMAP4.error, ValueError) as error:
        raise MailboxError(_why(error, login, is_late=line.is_cut)) from error
    finally:
        alarm.cancel()
        line.cut()
        if wire:
            with suppress(OSError):  # a second time
                wire.shutdown()


class _Line:
    """A connection that another thread may cut, whatever has been put around its socket since."""

    def __init__(self, dialled: socket.socket) -> None:
        self.socket = dialled
        self._handle = dialled.dup()
        self.is_cut = False

    def cut(self) -> None:
        self.is_cut = True
        with suppress(OSError):  # the other side was first
            self._handle.shutdown(socket.SHUT_RDWR)
        self._handle.close()


class _Wire(imaplib.IMAP4):
    """Python's client on a connection of ours. `left` is how many bytes the next answer may have."""

    def __init__(self, login: Login, line: _Line) -> None:
        self._login, self._line = login, line
        self.left = _LISTING
        super().__init__(login.host, login.port, _ANSWER_S)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        if self._login.security != Security.TLS:
            return self._line.socket
        return ssl.create_default_context().wrap_socket(self._line.socket, server_hostname=self._login.host)

    def read(self, size: int) -> bytes:
        self._count(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self._count(len(line))
        return line

    def asked(self, command: str, *given: str) -> list[bytes | tuple[bytes, bytes]]:
        """The answer to a command about mails by their numbers."""
        status, answer = self.uid(command, *given)
        if status != "OK":
            raise self.error(_words(answer))
        return [each for each in answer if each is not None]

    def _count(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise MailboxError("The mail server sent more than was asked for.")


def _enter(wire: _Wire, login: Login, *, folder: str) -> None:
    if login.security == Security.STARTTLS:
        if "STARTTLS" not in wire.capabilities:
            raise MailboxError("The mail server has no STARTTLS at this port.")
        wire.starttls(ssl.create_default_context())
    if "AUTH=PLAIN" not in wire.capabilities and "LOGINDISABLED" in wire.capabilities:
        raise MailboxError("The mail server takes no password this way: choose TLS or STARTTLS.")
    try:
        if "AUTH=PLAIN" in wire.capabilities:
            wire.authenticate("PLAIN", lambda _: f"\0{login.username}\0{login.password}".encode())
        else:
            wire.login(_quoted(login.username), login.password)
    except wire.abort:
        raise
    except wire.error as error:
        raise MailboxError(f"The mail server refused the user name or password{_said(error, login)}.") from error
    status, answer = wire.select(_quoted(_folder_name(folder)))
    if status != "OK":
        raise MailboxError(f"The mailbox has no folder “{folder}”, or it cannot be opened: {_words(answer)}")


def _dialled(login: Login, *, allowed_networks: Sequence[Network]) -> socket.socket:
    """A connection to an address that was checked; without encryption only to allowed networks."""
    found: list[Address] = addresses.look_up(
        login.host, login.port, allowed_networks=allowed_networks, private_only=login.security == Security.NONE
    )
    *first, last = list(map(str, dict.fromkeys(found)))[:_ADDRESSES]
    for address in first:
        try:
            dialled = socket.create_connection((address, login.port), timeout=addresses.NEXT_ADDRESS_S)
        except OSError:
            continue
        dialled.settimeout(_ANSWER_S)
        return dialled
    return socket.create_connection((last, login.port), timeout=_ANSWER_S)


def _why(error: Exception, login: Login, *, is_late: bool = False) -> str:
    if isinstance(error, BlockedAddress):
        private = "Without encryption only hosts of allowed networks are spoken to."
        return private if login.security == Security.NONE else error.message
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The mail server’s certificate is not good for {login.host}: {error.verify_message}."
    if is_late or isinstance(error, TimeoutError):
        return "The mail server did not answer in time."
    if isinstance(error, ssl.SSLError):
        return "The mail server does not speak TLS at this port."
    if isinstance(error, socket.gaierror):
        return f"The host {login.host} could not be found."
    if isinstance(error, ConnectionRefusedError):
        return f"Nothing answers at {login.host}, port {login.port}."
    if isinstance(error, imaplib.IMAP4.abort):
        return f"The mail server broke the connection off{_said(error, login)}."
    if isinstance(error, OSError):
        return "The mail server could not be reached, or broke off."
    return f"The mail server did not do what was asked{_said(error, login)}."


def _said(error: Exception, login: Login) -> str:
    """The server's own words, which might repeat what it was told."""
    given = error.args[0] if error.args else ""
    if isinstance(given, str):
        found = _REPEATED.search(given)
        given = found[1] if found else given.rpartition("=>")[2].strip()
    words = _words([given if isinstance(given, bytes) else str(given).encode("utf-8", "replace")])
    words = words.replace(login.password, "…") if login.password else words
    return f": {words}" if words else ""


def _words(answer: Sequence[object]) -> str:
    said = b" ".join(each for each in answer if isinstance(each, bytes)).decode("utf-8", "replace")
    shown = " ".join("".join(each if each.isprintable() else " " for each in said).split())
    return shown.rstrip(".")[:_SERVERS_WORDS]


def _number(said: bytes) -> int:
    """A mail's or a folder's number. Raises ValueError for one that IMAP does not have."""
    number = int(said)
    if not 0 <= number < 2**32:
        raise ValueError("a number beyond 32 bits")
    return number


def _date(line: bytes) -> datetime | None:
    found = _DATE.search(line)
    try:
        return datetime.strptime(found[1].decode().strip(), "%d-%b-%Y %H:%M:%S %z") if found else None
    except ValueError:
        return None


def _folder_name(name: str) -> str:
    """As IMAP writes names: what is not ASCII in a base64 of its own (RFC 3501, 5.1.3)."""

    def written(found: re.Match[str]) -> str:
        text = found[0]
        coded = base64.b64encode(text.encode("utf-16-be")).decode().rstrip("=").replace("/", ",") if text != "&" else ""
        return f"&{coded}-"

    return _NOT_ASCII.sub(written, name)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
