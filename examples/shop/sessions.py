"""Signs customers in at Median: asks it for a session token, server to server, so that no browser sees the API key."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from examples.shop.data import Account

TIMEOUT = 5.0


class SignInError(Exception):
    """No token could be had; the message is for the page."""


@dataclass(frozen=True)
class Median:
    """Where Median is and how to ask it. `widget_url` is the page that the shop frames."""

    url: str
    api_key: str = field(repr=False)
    widget_url: str

    @property
    def origin(self) -> str:
        """Where the widget comes from: its frame, and the script that puts it into a corner."""
        parts = urlsplit(self.widget_url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def workspace(self) -> str:
        """The name that the script tag needs; empty when the widget's address does not end with one."""
        name = urlsplit(self.widget_url).path.rstrip("/").rpartition("/")[2]
        return "" if name == "widget" else name

    def session_token(self, account: Account) -> str:
        """A token with which the widget knows this customer, for 30 minutes. Raises SignInError."""
        asked = {
            "subject": account.id,
            "anonymous": False,
            "claims": {},
            "email": account.email,
            "name": account.name,
        }
        try:
            with httpx.Client(trust_env=False, timeout=TIMEOUT) as client:
                response = client.post(
                    f"{self.url.rstrip('/')}/v1/session-tokens",
                    json=asked,
                    headers={"authorization": f"Bearer {self.api_key}"},
                )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SignInError(f"Median did not answer at {self.url}: {error}") from error
        return _token(response)


def _token(response: httpx.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        body = None
    token = body.get("token") if isinstance(body, dict) else None
    if response.is_success and isinstance(token, str):
        return token
    error = body.get("error") if isinstance(body, dict) else None
    said = error.get("message") if isinstance(error, dict) else "no token in the answer"
    raise SignInError(f"Median answered {response.status_code}: {said}")
