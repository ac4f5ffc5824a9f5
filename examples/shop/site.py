"""The shop's own website, with the tool endpoint beside it: one WSGI app. Pages are in `templates/`."""

import json
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from median_tools.wsgi import App, Environ, StartResponse

from examples.shop.call_log import CallLog
from examples.shop.data import Shop
from examples.shop.sessions import Median, SignInError

_HERE = Path(__file__).parent
_HTML = "text/html; charset=utf-8"

Page = tuple[HTTPStatus, str, bytes]


class Site:
    """The WSGI app. Without `median` the shop has no chat, and says so."""

    def __init__(self, shop: Shop, *, tools: App, log: CallLog, median: Median | None) -> None:
        self._shop = shop
        self._tools = tools
        self._log = log
        self._median = median
        self._style = (_HERE / "style.css").read_bytes()
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=StrictUndefined
        )
        self._templates.filters["dollars"] = lambda cents: f"${cents / 100:.2f}"
        self._templates.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
        self._headers = _headers(median)
        self._pages: dict[str, Callable[[str], Page]] = {
            "/": self._home,
            "/chat": self._chat,
            "/log": self._log_page,
            "/log.json": self._log_json,
            "/style.css": lambda query: (HTTPStatus.OK, "text/css; charset=utf-8", self._style),
        }

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/tools":
            return self._tools(environ, start_response)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            status, kind, body = self._message(HTTPStatus.METHOD_NOT_ALLOWED, "This page can only be read.")
        elif path in self._pages:
            status, kind, body = self._pages[path](environ.get("QUERY_STRING", ""))
        else:
            status, kind, body = self._message(HTTPStatus.NOT_FOUND, "There is no such page.")
        headers = [("Content-Type", kind), ("Content-Length", str(len(body))), *self._headers]
        start_response(f"{status.value} {status.phrase}", headers)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _home(self, query: str) -> Page:
        return self._render("home.html", accounts=list(self._shop.accounts.values()), median=self._median)

    def _chat(self, query: str) -> Page:
        """/chat?as=user_123, or /chat for somebody who is not signed in."""
        wanted = parse_qs(query).get("as", [""])[0]
        account = self._shop.account(wanted)
        if wanted and account is None:
            return self._message(HTTPStatus.NOT_FOUND, "There is no such customer.")
        if self._median is None:
            return self._message(HTTPStatus.OK, "The chat is off: start the shop with --median and --api-key.")
        frame = self._median.widget_url
        problem = None
        if account is not None:
            try:
                frame = f"{frame}#token={self._median.session_token(account)}"
            except SignInError as error:
                problem = str(error)
        orders = self._shop.orders_of(account.id) if account else []
        status = HTTPStatus.BAD_GATEWAY if problem else HTTPStatus.OK
        return self._render("chat.html", status=status, account=account, orders=orders, frame=frame, problem=problem)

    def _log_page(self, query: str) -> Page:
        return self._render("log.html", calls=self._log.newest())

    def _log_json(self, query: str) -> Page:
        body = json.dumps(self._log.newest(), ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")
        return HTTPStatus.OK, "application/json", body

    def _message(self, status: HTTPStatus, text: str) -> Page:
        return self._render("message.html", status=status, text=text)

    def _render(self, template: str, *, status: HTTPStatus = HTTPStatus.OK, **values: object) -> Page:
        text = self._templates.get_template(template).render(**values)
        return status, _HTML, text.encode("utf-8", "backslashreplace")


def _headers(median: Median | None) -> list[tuple[str, str]]:
    """Nothing on a page may come from elsewhere but the widget: its frame, and its one script."""
    frames = median.origin if median else "'none'"
    scripts = f"script-src {median.origin}; " if median and median.workspace else ""
    policy = (
        f"default-src 'none'; style-src 'self'; {scripts}frame-src {frames}; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )
    return [
        ("Content-Security-Policy", policy),
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "strict-origin-when-cross-origin"),
        ("X-Content-Type-Options", "nosniff"),
    ]
