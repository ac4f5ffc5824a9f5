"""Remembers the ids of calls for as long as the same call would verify, so that each runs once."""

import heapq
import threading
import time
from typing import Protocol

from median_tools.answers import ToolError

LIMIT = 100_000  # ids, of the ten minutes in which one call can verify: 160 calls a second


class ReplayStore(Protocol):
    """Where ids are remembered. Give `define` your own, in a database, when several processes serve one endpoint."""

    def add(self, call_id: str, *, until: float) -> bool:
        """Remembers the id until that Unix time. False when it is remembered already; must be atomic."""


class Memory:
    """Remembers in this process, in bounded memory. Full, it refuses new calls rather than forget an old one."""

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = limit
        self._ids: set[str] = set()
        self._order: list[tuple[float, str]] = []
        self._lock = threading.Lock()

    def add(self, call_id: str, *, until: float) -> bool:
        """As ReplayStore says. Raises ToolError 503 `busy` when full."""
        with self._lock:
            self._forget(before=time.time())
            if call_id in self._ids:
                return False
            if len(self._ids) >= self._limit:
                raise ToolError("busy", "Too many calls in a short time.", status=503)
            self._ids.add(call_id)
            heapq.heappush(self._order, (until, call_id))
            return True

    def _forget(self, *, before: float) -> None:
        while self._order and self._order[0][0] < before:
            self._ids.discard(heapq.heappop(self._order)[1])
