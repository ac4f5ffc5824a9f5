"""A real SMTP server in a thread."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage as Letter

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


class Postbox:
    """What an SMTP server was given; `answers` are what it says to the next mails, then it takes them."""

    def __init__(self) -> None:
        self.got: list[tuple[str, list[str], Letter]] = []
        self.answers: list[str] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.answers:
            return self.answers.pop(0)
        mail = message_from_bytes(envelope.content or b"", policy=policy.default)  # type: ignore[arg-type]
        self.got.append((envelope.mail_from or "", envelope.rcpt_tos, mail))  # type: ignore[arg-type]
        return "250 OK"


@contextmanager
def running() -> Iterator[tuple[Postbox, int]]:
    """A server, and its port."""
    box = Postbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = Controller(box, hostname="127.0.0.1", port=port)
    server.start()
    try:
        yield box, port
    finally:
        server.stop()
