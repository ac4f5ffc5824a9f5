"""One event loop in a thread, so that async tools keep their clients and pools from call to call under WSGI."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class Background:
    """Starts its thread with the first coroutine, so that a server may fork before that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[object, object, T]) -> T:
        """Runs it on the loop and waits for it; raises what it raises."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="median-tools-loop", daemon=True)
                self._thread.start()
            return self._loop
