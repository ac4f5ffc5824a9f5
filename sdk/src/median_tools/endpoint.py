"""The object that a company defines its tools on and mounts: admits a request, runs the tool, shapes the answer."""

import asyncio
import hashlib
import inspect
import logging
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from importlib import import_module
from typing import Any, TypeVar, cast

from median_tools import asgi, server, wsgi
from median_tools.admission import Admission, Request, assertions_of
from median_tools.answers import Answer, Json, ToolError, encode
from median_tools.background import Background
from median_tools.calls import Call
from median_tools.replays import Memory, ReplayStore
from median_tools.testing import Client
from median_tools.tool import Input, Tool, tool_of
from median_tools.webhooks import Webhooks

MAX_TOOLS = 100
THREADS = 32  # sync tools running at once under ASGI

F = TypeVar("F", bound=Callable[..., object])
log = logging.getLogger("median_tools")


def define(
    *,
    secret: str | Iterable[str] | None = None,
    issuer: str | None = None,
    name: str | None = None,
    replays: ReplayStore | None = None,
    after_call: Callable[[Call, Answer], None] | None = None,
) -> "Tools":
    """An endpoint without tools yet.

    `secret` is the endpoint's `whsec_…`, or several while it rotates; `issuer` is the workspace's URL on Median. At
    least one is needed, and with both a call must carry both. `name` is only for your logs. `replays` remembers call
    ids (default: this process's memory). `after_call` is told of every verified call and its answer.
    Raises ValueError for a secret or an issuer that cannot be right, ImportError for an issuer without the extra `jwt`.
    """
    if secret is None and issuer is None:
        raise ValueError("give secret=, issuer= or both: without them anyone could call your tools")
    if replays is not None and inspect.iscoroutinefunction(replays.add):
        raise TypeError("replays.add must be a plain function: nobody would wait for an async one")
    secrets = [secret] if isinstance(secret, str) else secret
    admission = Admission(
        webhooks=None if secrets is None else Webhooks(secrets),
        assertions=None if issuer is None else assertions_of(issuer),
        replays=replays or Memory(),
    )
    return Tools(admission, name=name or "tools", after_call=after_call)


class Tools:
    """An endpoint's tools. The object is an ASGI app, `.wsgi` a WSGI app, `.django_view` a Django view."""

    def __init__(
        self, admission: Admission, *, name: str, after_call: Callable[[Call, Answer], None] | None = None
    ) -> None:
        self.admission = admission
        self._name = name
        self._after_call = after_call
        self._tools: dict[str, Tool] = {}
        self._background = Background()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="median-tools")

    def tool(
        self,
        *,
        description: str,
        risk: str = "low",
        label: str | None = None,
        input: Input | None = None,
        session_start: bool = False,
        requires: str | None = None,
        name: str | None = None,
    ) -> Callable[[F], F]:
        """Makes the function below a tool, named as the function unless `name` says otherwise.

        With `input` (p fields, or a JSON Schema) it is called as `f(input, context)`. Without, its type hints are the
        schema, and a parameter of type ToolContext gets the context. Raises ValueError or TypeError for what Median
        would refuse.
        """

        def add(function: F) -> F:
            tool = tool_of(
                function,
                name=name or function.__name__,
                description=description,
                risk=risk,
                label=label,
                input=input,
                session_start=session_start,
                requires=requires,
            )
            self._add(tool)
            return function

        return add

    def _add(self, tool: Tool) -> None:
        name = str(tool.entry["name"])
        if name in self._tools:
            raise ValueError(f"{name}: there is a tool of that name already")
        if len(self._tools) == MAX_TOOLS:
            raise ValueError(f"{name}: an endpoint has at most {MAX_TOOLS} tools")
        self._tools[name] = tool

    def risk_of(self, name: str) -> str:
        """The risk of a tool; "low" for one that is not here, as a call about it would be answered 404 anyway."""
        return str(self._tools[name].entry["risk"]) if name in self._tools else "low"

    def manifest(self) -> dict[str, Json]:
        """What a sync is answered."""
        return {
            "version": 1,
            "sdk": "median-tools/1.0 (python)",
            "tools": [tool.entry for tool in self._tools.values()],
        }

    def answer(self, request: Request) -> Answer:
        """Answers one request, in this thread; an async tool runs on a loop kept beside it. Never raises."""
        admitted = self._admit(request)
        if isinstance(admitted, Answer):
            return admitted
        call, tool = admitted
        return self._done(call, self._run(call, tool))

    async def answer_async(self, request: Request) -> Answer:
        """Answers one request on the running loop; a sync tool runs in a thread. Never raises."""
        if self.admission.may_wait:
            admitted = await asyncio.to_thread(self._admit, request)
        else:
            admitted = self._admit(request)
        if isinstance(admitted, Answer):
            return admitted
        call, tool = admitted
        if tool.is_async:
            return self._done(call, await self._awaited(call, tool.run(call)))
        run = asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, self._run, call, tool)
        return self._done(call, await run)

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        await asgi.serve(self.answer_async, scope, receive, send)

    def wsgi(self, environ: wsgi.Environ, start_response: wsgi.StartResponse) -> list[bytes]:
        """The WSGI app: mount it where the endpoint's address points."""
        return wsgi.serve(self.answer, environ, start_response)

    @property
    def django_view(self) -> Callable[..., Any]:  # Django is not a dependency, so its types cannot be named here
        """A Django view, exempt from CSRF checks: path("median", tools.django_view)."""
        view: Callable[..., Any] = import_module("median_tools.django").view(self.answer)
        return view

    def serve(self, host: str = "127.0.0.1", port: int = 8000) -> None:
        """Serves the tools alone until SIGINT or SIGTERM. For development."""
        with server.Server(self.wsgi, host=host, port=port) as running:
            log.info("%s are served at %s", self._name, running.url)
            running.run()

    def test_client(self) -> Client:
        """Calls the tools from a test, through the same checks as a request from Median."""
        return Client(self)

    def _admit(self, request: Request) -> Answer | tuple[Call, Tool]:
        """A verified call and its tool, or the answer that ends the request here."""
        try:
            if request.method in ("GET", "HEAD"):
                return self._manifest_answer(request)
            if request.method != "POST":
                return ToolError("method_not_allowed", "Use GET or POST.", status=405).answer(("allow", "GET, POST"))
            call = self.admission.call(request)
        except ToolError as error:
            log.warning("%s answered %d: %s", self._name, error.status, error.message)
            return error.answer()
        try:
            return call, self._tool_for(call)
        except ToolError as error:
            return self._done(call, error.answer())

    def _manifest_answer(self, request: Request) -> Answer:
        self.admission.manifest(request)
        body = encode(self.manifest())
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        known = ",".join(value for name, value in request.headers if name == "if-none-match")
        headers = (("etag", tag), ("cache-control", "no-cache"))
        return Answer(304, b"", headers) if tag in known or known == "*" else Answer(200, body, headers)

    def _tool_for(self, call: Call) -> Tool:
        tool = self._tools.get(call.tool)
        if tool is None:
            raise ToolError("unknown_tool", f"There is no tool {call.tool[:64]} here.", status=404)
        tool.check(call)
        return tool

    def _run(self, call: Call, tool: Tool) -> Answer:
        try:
            value = tool.run(call)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool raises becomes its answer
            return self._failed(call, error)
        if inspect.iscoroutine(value):  # of an async tool, or of one inside a decorator that is not
            return self._background.run(self._awaited(call, value))
        return self._result(call, value)

    async def _awaited(self, call: Call, running: object) -> Answer:
        try:
            value = await cast(Coroutine[object, object, object], running)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool raises becomes its answer
            return self._failed(call, error)
        return self._result(call, value)

    def _result(self, call: Call, value: object) -> Answer:
        try:
            return Answer(200, encode(value))
        except (TypeError, ValueError, RecursionError):
            log.exception("%s returned something that is not JSON, in %s", call.tool, call.context.tool_call_id)
            return ToolError("tool_failed", f"{call.tool} returned something that is not JSON.").answer()

    def _failed(self, call: Call, error: BaseException) -> Answer:
        if isinstance(error, ToolError):
            return error.answer()
        # The exception's own text stays in the log: it may name hosts, queries or secrets.
        log.error("%s failed in %s", call.tool, call.context.tool_call_id, exc_info=error)
        return ToolError("tool_failed", f"{call.tool} failed. The server's log says why.").answer()

    def _done(self, call: Call, answer: Answer) -> Answer:
        if self._after_call is not None:
            try:
                self._after_call(call, answer)
            except Exception:  # the action is done: a broken observer must not turn its answer into an error
                log.exception("after_call failed for %s", call.context.tool_call_id)
        return answer
