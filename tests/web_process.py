"""The web process itself, over the tests' database, on a port of its own."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from django.db import connection

ROOT = Path(__file__).resolve().parent.parent


class WebProcess:
    """Listens from the start, so connections wait in the queue until the process is there; may be started again."""

    def __init__(self, log: Path, environment: Mapping[str, str]) -> None:
        self._log = log
        self._environment = environment
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self._log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "median_site.serve", "--fd", str(self._door.fileno())],
                cwd=ROOT,
                env={**os.environ, "MEDIAN_DATABASE_URL": _database_url(), **self._environment},
                pass_fds=[self._door.fileno()],
                stdout=output,
                stderr=output,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Ends it politely: a process that is killed leaves connections to the tests' database behind."""
        self.process.terminate()
        self.process.wait(30)
        self._door.close()


@contextmanager
def serving(log: Path, **environment: str) -> Iterator[WebProcess]:
    web = WebProcess(log, environment)
    try:
        yield web
    finally:
        web.close()


def _database_url() -> str:
    database = connection.settings_dict
    user = quote(database["USER"]) + (f":{quote(database['PASSWORD'])}" if database["PASSWORD"] else "")
    query = f"?host={quote(database['HOST'])}" + (f"&port={database['PORT']}" if database["PORT"] else "")
    return f"postgresql://{user}@/{database['NAME']}{query}"
