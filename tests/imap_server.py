"""A real IMAP server in a thread, with as many folders as a test wants; and one that says what it is told."""

import asyncio
import imaplib
import socket
import threading
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from pymap.backend.dict import DictBackend
from pymap.imap import IMAPService
from pysasl.hashing import BuiltinHash

USER, PASSWORD = "support@fernhill.example", 'a "long" pässword\\'


class ImapServer:
    """One user; folders and mails are in memory."""

    def __init__(self, *, certificate: Path | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._certificate = certificate
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()), daemon=True)

    @contextmanager
    def running(self) -> Iterator["ImapServer"]:
        self._thread.start()
        assert self._ready.wait(20)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join(10)
            self._loop.close()

    def put(self, folder: str, *mails: bytes, came: datetime | None = None) -> None:
        """Mails arrive in a folder, which is made if need be."""
        with self.session() as session:
            session.create(f'"{folder}"')
            for mail in mails:
                date = imaplib.Time2Internaldate(came) if came else None
                session.append(f'"{folder}"', None, date, mail)  # type: ignore[arg-type]

    def seen(self, folder: str) -> int:
        """How many mails of a folder are marked as read."""
        with self.session() as session:
            session.select(f'"{folder}"', readonly=True)
            return len(session.search(None, "SEEN")[1][0].split())

    @contextmanager
    def session(self) -> Iterator[imaplib.IMAP4]:
        session = imaplib.IMAP4("127.0.0.1", self.port, 10)
        try:
            session.authenticate("PLAIN", lambda _: f"\0{USER}\0{PASSWORD}".encode())
            yield session
        finally:
            session.logout()

    async def _serve(self) -> None:
        backend, config = await DictBackend.init(
            self._arguments(), insecure_login=True, hash_context=BuiltinHash(rounds=1)
        )
        config.apply_context()
        async with AsyncExitStack() as stack:
            await backend.start(stack)
            await IMAPService(backend, config).start(stack)
            self._ready.set()
            await self._over.wait()

    def _arguments(self) -> object:
        parser = ArgumentParser()
        DictBackend.add_subparser("dict", parser.add_subparsers(dest="backend"))
        IMAPService.add_arguments(parser)
        parser.set_defaults(debug=False, passlib_cfg=None, skip_services=[])
        tls = ["--cert", str(self._certificate), "--key", str(self._certificate)] if self._certificate else ["--no-tls"]
        given = ["--host", "127.0.0.1", "--port", str(self.port), *tls]
        return parser.parse_args([*given, "dict", "--demo-user", USER, "--demo-password", PASSWORD])


@contextmanager
def scripted(answers: Mapping[str, bytes], *, hello: bytes = b"* OK hi\r\n") -> Iterator[int]:
    """A server that answers each command by its first word of these; gives its port. An answer may have a {tag}.

    A command that is not there gets no answer.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        over = threading.Event()
        thread = threading.Thread(target=_answer, args=(listening, answers, hello, over), daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def _answer(listening: socket.socket, answers: Mapping[str, bytes], hello: bytes, over: threading.Event) -> None:
    while not over.is_set():
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection, connection.makefile("rb") as lines:
            try:
                connection.sendall(hello)
                for line in lines:
                    tag, command, *rest = line.decode("utf-8", "replace").split()
                    said = answers.get(f"{command} {rest[0]}" if command == "UID" else command, b"")
                    connection.sendall(said.replace(b"{tag}", tag.encode()))
            except (OSError, ValueError):  # a TLS handshake is no command
                continue
