"""Readers of environment variables, for the settings. Each fails loudly and names the variable.

A blank variable counts as unset. A default of None means that the variable must be set.
"""

import ipaddress
import json
import os
import re
from collections.abc import Sequence
from typing import Final, TypedDict
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Database(TypedDict):
    """An entry of Django's DATABASES."""

    ENGINE: str
    NAME: str
    USER: str
    PASSWORD: str
    HOST: str
    PORT: str
    OPTIONS: dict[str, object]


_FLAGS: Final = {
    "1": True, "true": True, "yes": True, "on": True,
    "0": False, "false": False, "no": False, "off": False,
}  # fmt: skip


def text(name: str, *, default: str | None = None) -> str:
    """The variable without surrounding white space. Raises ImproperlyConfigured when unset without a default."""
    value = os.environ.get(name, "").strip()
    if value:
        return value
    if default is None:
        raise ImproperlyConfigured(f"{name} must be set.")
    return default


def flag(name: str, *, default: bool | None = None) -> bool:
    """1, true, yes, on or 0, false, no, off, in any case."""
    value = text(name, default=None if default is None else str(default)).lower()
    if value not in _FLAGS:
        raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")
    return _FLAGS[value]


def integer(name: str, *, default: int | None = None, minimum: int | None = None, maximum: int | None = None) -> int:
    """A whole number within the bounds, both included."""
    value = text(name, default=None if default is None else str(default))
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}.") from None
    if minimum is not None and number < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}, not {number}.")
    if maximum is not None and number > maximum:
        raise ImproperlyConfigured(f"{name} must be at most {maximum}, not {number}.")
    return number


def csv(name: str, *, default: Sequence[str] = ()) -> list[str]:
    """The parts between commas, trimmed; blank ones are left out."""
    return [part for part in map(str.strip, text(name, default=",".join(default)).split(",")) if part]


def url(name: str, *, default: str | None = None) -> str:
    """An absolute URL of the web, without a slash at the end. A blank default stays blank."""
    value = text(name, default=default).rstrip("/")
    if not value:
        return value
    try:
        parts = urlsplit(value)
        well_formed = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        well_formed = False
    if not well_formed:
        raise ImproperlyConfigured(f"{name} must be a URL that starts with https:// or http://.")
    return value


def networks(name: str, *, default: Sequence[str] = ()) -> list[Network]:
    """Networks and single addresses between commas, such as "10.0.0.0/8, ::1"."""
    try:
        return [ipaddress.ip_network(part) for part in csv(name, default=default)]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be networks, separated by commas: {error}.") from None


def mapping(name: str) -> dict[str, object]:
    """A JSON object; an empty one when unset."""
    try:
        value = json.loads(text(name, default="{}"))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ImproperlyConfigured(f"{name} must be a JSON object.")
    return value


def database_url(name: str) -> Database:
    """A PostgreSQL URL as libpq reads it, as an entry of Django's DATABASES.

    A folder with a Unix socket is a `host` in the query (`postgresql:///median?host=/run/pg&user=median`) or a
    percent-encoded host. What Django has no field for (`sslmode`, `connect_timeout`) goes to OPTIONS.
    """
    try:
        return _database(text(name))
    except ValueError:
        # Neither the URL nor what urllib says about it: either may show the password.
        raise ImproperlyConfigured(
            f"{name} must be a URL like postgresql://user:password@host:5432/name, special characters percent-encoded."
        ) from None


def _database(value: str) -> Database:
    parts = urlsplit(value)
    account, _, address = parts.netloc.rpartition("@")
    user, _, password = account.partition(":")
    # Not parts.hostname, which lower-cases: the host may be the path of a folder.
    host = re.sub(r":\d*$", "", address).removeprefix("[").removesuffix("]")
    # A plus is a plus to libpq, not a space.
    query = parse_qsl(parts.query.replace("+", "%2B"), keep_blank_values=True, strict_parsing=bool(parts.query))
    options: dict[str, object] = dict(query)

    def field(key: str, written: str) -> str:
        return str(options.pop(key, unquote(written)))

    database = Database(
        ENGINE="median_site.lib.postgres",
        NAME=field("dbname", parts.path.removeprefix("/")),
        USER=field("user", user),
        PASSWORD=field("password", password),
        HOST=field("host", host),
        PORT=field("port", str(parts.port or "")),
        OPTIONS=options,
    )
    if parts.scheme not in ("postgresql", "postgres") or parts.fragment or not database["NAME"]:
        raise ValueError
    return database
