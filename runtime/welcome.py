"""What a newcomer reads when the demo is up."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from runtime.stack import Facts, Stack


def welcome(stack: Stack, *, facts: Facts, seconds: float) -> str:
    """`seconds` is how long it took to get there."""
    first = facts["teammates"][0]
    width = max(len(person["email"]) for person in facts["teammates"])
    people = [f"{person['email']:<{width}}  password  {person['password']}" for person in facts["teammates"]]
    lines = [
        "",
        f"Median is running, ready in {seconds:.1f} s.",
        "",
        f"  Dashboard  {stack.url}",
        f"  Sign in    {people[0]}",
        *(f"             {line}" for line in people[1:]),
        f"  Shop       {stack.shop_url}",
        f"  Made of    {_database()}; {_redis()}; {_model()}",
        f"  Logs       {os.path.relpath(stack.home / 'log', Path.cwd())}",
        "",
        "Try this",
        f"  1. Open the shop, {stack.shop_url}, as its customer Ana.",
        f"  2. In another window open {stack.url} and sign in as {first['name']}.",
        "  3. In the shop's chat write: My order ORD-1042 arrived with a dented lid. I'd like a refund.",
        "  4. In the dashboard look at what the agent wants to do, and approve it.",
        "  5. See the answer arrive in the shop's chat.",
        "",
        "Ctrl-C stops everything.",
        "",
    ]
    return "\n".join(lines)


def _database() -> str:
    given = os.environ.get("MEDIAN_DATABASE_URL")
    return f"your database at {_where(given)}" if given else "its own PostgreSQL"


def _redis() -> str:
    given = os.environ.get("MEDIAN_REDIS_URL")
    return f"your Redis at {_where(given)}" if given else "no Redis"


def _model() -> str:
    given = os.environ.get("MEDIAN_MODEL_URL")
    if not given:
        return "the built-in demo model"
    return f"your model {os.environ.get('MEDIAN_MODEL_NAME', '')} at {_where(given)}".replace("  ", " ")


def _where(url: str) -> str:
    """The part of an address that may be shown: no name, no password, no query."""
    parts = urlsplit(url)
    return (parts.hostname or "a socket") + (f":{parts.port}" if parts.port else "") + parts.path
