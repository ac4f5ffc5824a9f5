"""The issuer's public keys: fetched from its JWKS, cached, refreshed when one is unknown, kept through an outage."""

import logging
import threading
import time
from typing import Protocol

import httpx
import jwt

from median_tools.answers import ToolError

FRESH = 600  # seconds without asking again
STALE = 24 * 3600  # seconds the last good keys serve while every refresh fails
COOL_DOWN = 30  # seconds between two requests, so that made-up key ids cannot flood the issuer
TIMEOUT = 3.0

log = logging.getLogger("median_tools")


class Keys(Protocol):
    def find(self, kid: str) -> jwt.PyJWK | None: ...


class IssuerKeys:
    """The ES256 keys at `{issuer}/.well-known/jwks.json`. Safe to share between threads."""

    def __init__(self, issuer: str) -> None:
        self.url = f"{issuer.rstrip('/')}/.well-known/jwks.json"
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")
        self._asked_at = float("-inf")
        self._asking = threading.Lock()

    def find(self, kid: str) -> jwt.PyJWK | None:
        """The key of that id, or None when the issuer has none. Raises ToolError 503 when there are no keys to ask."""
        known = kid in self._usable()
        due = not known or self._age() > FRESH
        # Whoever holds a known key does not wait for a refresh that is under way.
        if due and self._asking.acquire(blocking=not known):
            try:
                self._refresh(kid)
            finally:
                self._asking.release()
        keys = self._usable()
        if not keys:
            raise ToolError("keys_unavailable", "The issuer's signing keys could not be fetched.", status=503)
        return keys.get(kid)

    def _age(self) -> float:
        return time.monotonic() - self._fetched_at

    def _usable(self) -> dict[str, jwt.PyJWK]:
        return self._keys if self._age() <= STALE else {}

    def _refresh(self, kid: str) -> None:
        if self._age() <= FRESH and kid in self._keys:
            return  # another thread fetched it while this one waited
        if time.monotonic() - self._asked_at < COOL_DOWN:
            return
        self._asked_at = time.monotonic()
        try:
            self._keys = _fetch(self.url)
            self._fetched_at = time.monotonic()
        except Exception as error:  # noqa: BLE001 - whatever its answer breaks in here, the last good keys stay
            log.warning("The signing keys at %s could not be fetched: %s", self.url, error)


def _fetch(url: str) -> dict[str, jwt.PyJWK]:
    """The keys by id. Raises ValueError when there is no usable one, so that an empty set never replaces a good one."""
    with httpx.Client(trust_env=False, follow_redirects=False, timeout=TIMEOUT) as client:
        response = client.get(url, headers={"accept": "application/json"})
    response.raise_for_status()
    found = jwt.PyJWKSet.from_dict(response.json()).keys
    keys = {key.key_id: key for key in found if key.key_id and key.algorithm_name == "ES256"}
    if not keys:
        raise ValueError("no ES256 key in the set")
    return keys
