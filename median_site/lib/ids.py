"""Ids for new things. None is ever made twice or can be guessed; all but turns and API keys sort by when they
were made."""

import secrets
from typing import Final

from median_site.lib import clock, text

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no i, l, o, u
_TIME_CHARACTERS: Final = 10  # 50 bits of milliseconds: until the year 37,000


def new_id() -> str:
    """A row's id: 32 characters of [a-z0-9], 10 of milliseconds and 22 (110 bits) of chance."""
    moment = _milliseconds()
    stamp = "".join(_ALPHABET[moment >> shift & 31] for shift in range(5 * (_TIME_CHARACTERS - 1), -1, -5))
    return stamp + _random(32 - _TIME_CHARACTERS)


def call_id() -> str:
    """The id of a tool call: "call_" and 32 hex digits."""
    return f"call_{_ordered_hex()}"


def test_id() -> str:
    """The id of a test call, so that an endpoint can tell it from a real one: "test_" and 32 hex digits."""
    return f"test_{_ordered_hex()}"


def message_id() -> str:
    """The id of a webhook's delivery, the same at every attempt: "msg_" and 32 hex digits."""
    return f"msg_{_ordered_hex()}"


def turn_id() -> str:
    """The id of a model's turn, which endpoints see: 32 hex digits of chance alone, telling neither time nor order."""
    return secrets.token_hex(16)


def given(raw: str) -> str:
    """A page's own id of what it sends, as it can be kept: at most 64 characters."""
    return text.clean(raw)[0][:64]


def number(raw: str) -> int | None:
    """A row's number that a page sends; None for what is none, or larger than a column of PostgreSQL may be."""
    return int(raw) if raw.isdecimal() and len(raw) < 19 else None


def api_key() -> str:
    """A new API key: "mdn_" and 40 random characters (200 bits). Only its hash is kept."""
    return f"mdn_{_random(40)}"


def _ordered_hex() -> str:
    """Laid out like a UUIDv7: 48 bits of milliseconds, then 80 of chance. New rows meet at one end of an index."""
    return f"{_milliseconds():012x}{secrets.token_hex(10)}"


def _milliseconds() -> int:
    return int(clock.now().timestamp() * 1000)


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
