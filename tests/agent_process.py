"""The agent process in tests: in a thread of the test, or as a process of its own that can be killed."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from agent.loop import AgentProcess
from agent.models.base import Model

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def in_thread(model: Model, *, writer: Model | None = None, helper: Model | None = None) -> Iterator[AgentProcess]:
    """An agent process that works beside the test and ends with it."""
    process = AgentProcess(model, writer=writer, helper=helper)
    with asyncio.Runner() as runner:
        thread = threading.Thread(target=runner.run, args=(process.run(),))
        thread.start()
        try:
            yield process
        finally:
            runner.get_loop().call_soon_threadsafe(process.stop)
            thread.join(20)
            assert not thread.is_alive()


@contextmanager
def as_process(**environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """`manage.py agent` on the test's database; killed on leaving if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "agent"],
        cwd=ROOT,
        env={**os.environ, "MEDIAN_DATABASE_URL": database_url(), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(10)


def database_url() -> str:
    settings = connection.settings_dict
    host, user = quote(settings["HOST"], safe=""), quote(settings["USER"], safe="")
    port = f":{settings['PORT']}" if settings["PORT"] else ""
    secret = f":{quote(settings['PASSWORD'], safe='')}" if settings["PASSWORD"] else ""
    return f"postgresql://{user}{secret}@{host}{port}/{settings['NAME']}"
