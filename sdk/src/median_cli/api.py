"""Requests to the REST API: every answer is JSON, every refusal a sentence."""

import json
import time
from typing import Any
from urllib.parse import quote

import httpx

from median_cli import config, show
from median_cli.failures import Failed, Network, SignIn, Usage

TIMEOUT_S = 30
WAIT_S = 30
LONGEST_PAUSE_S = 60
PAGE = 100

Json = Any  # what the API answers; commands read it by the names of its documentation


class Api:
    """One installation, as one key may use it. Close it, or use it as a context manager."""

    def __init__(self, login: config.Login) -> None:
        headers = {"Authorization": f"Bearer {login.key}", "User-Agent": "median-cli"}
        try:
            self._http = httpx.Client(base_url=f"{login.url}/v1", headers=headers, timeout=TIMEOUT_S)
        except (
            httpx.InvalidURL,
            ValueError,
            ImportError,
            OSError,
        ) as error:  # a proxy's or a certificate's variable too
            raise Usage(f"{login.url} cannot be called with these settings: {error}") from error
        self._url = login.url

    def __enter__(self) -> "Api":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **query: object) -> Json:
        """Waits when the key has read too often for this minute. Raises Failed, SignIn, Network."""
        wait = int(query["wait"]) if "wait" in query else 0  # type: ignore[call-overload]  # an int of ours
        return self._send("GET", path, params=_given(query), timeout=TIMEOUT_S + wait)

    def listed(self, path: str, *, limit: int, **query: object) -> list[Json]:
        """The newest `limit` rows of a list, page by page. Says on standard error when there are more."""
        rows: list[Json] = []
        cursor: str | None = ""
        while cursor is not None and len(rows) < limit:
            page = self.get(path, cursor=cursor, limit=min(limit - len(rows), PAGE), **query)
            rows += page["data"]
            cursor = page["next_cursor"]
        if cursor is not None:
            show.error(f"These are the newest {len(rows)}; there are more. --limit takes any number.")
        return rows

    def post(self, path: str, body: object = None, *, input_text: str | None = None) -> Json:
        """`input_text` is JSON that goes in as the body's "input", letter by letter: numbers keep their digits.

        Raises Failed, SignIn, Network. Never sent again by itself: what was asked may have been done.
        """
        text = json.dumps(body if body is not None else {}, ensure_ascii=False)
        if input_text is not None:
            text = f'{text[:-1]}{"," if text != "{}" else ""}"input":{input_text}}}'
        return self._send("POST", path, content=text.encode(), headers={"Content-Type": "application/json"})

    def _send(self, method: str, path: str, **options: Any) -> Json:
        try:
            answer = self._http.request(method, path, **options)
        except httpx.TimeoutException as error:
            raise Network(f"{self._url} did not answer in time.") from error
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise Usage(f"{self._url} is no address of an installation: it begins with https:// or http://.") from error
        except (httpx.RequestError, UnicodeError) as error:  # of a host too, which no name server takes
            raise Network(f"{self._url} cannot be reached: {error}") from error
        if answer.status_code == 429 and method == "GET":
            time.sleep(_pause_s(answer))
            return self._send(method, path, **options)
        if answer.is_success:
            return _json(answer)
        raise _refused(answer)


def segment(value: str) -> str:
    """A name or an id as one part of a path, whatever stands in it."""
    return quote(value, safe="").replace(".", "%2E")  # "." and ".." would lead elsewhere


def _given(query: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items() if value not in (None, "")}


def _pause_s(answer: httpx.Response) -> int:
    after = answer.headers.get("Retry-After", "")
    return min(int(after), LONGEST_PAUSE_S) if after.isascii() and after.isdigit() else 1


def _json(answer: httpx.Response) -> Json:
    try:
        found = answer.json()
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Failed(f"The answer was not Median's JSON; is {answer.url} a Median installation?")
    return found


def _refused(answer: httpx.Response) -> Failed:
    if answer.status_code == 401:
        return SignIn("This key is not known here, or it was revoked. Sign in again: median login.")
    try:
        error = answer.json()["error"]
        sentence = str(error["message"])
    except (ValueError, KeyError, TypeError):
        return Failed(f"{answer.url} answered {answer.status_code}.")
    return SignIn(sentence) if answer.status_code == 403 else Failed(sentence)
