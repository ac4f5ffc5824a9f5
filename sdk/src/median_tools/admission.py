"""Who may come in: from a raw request to a verified manifest request or a verified, first-time call."""

import logging
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from median_tools.answers import ToolError
from median_tools.calls import Call, parse
from median_tools.headers import Headers
from median_tools.replays import ReplayStore
from median_tools.webhooks import Webhooks

if TYPE_CHECKING:
    from median_tools.assertions import Assertions

log = logging.getLogger("median_tools")

SYNC = "median:sync"  # the audience of an assertion that asks for the manifest
MAX_BODY = 64 * 1024  # bytes


@dataclass(frozen=True)
class Request:
    """One HTTP request: the body is the raw bytes, since those are what was signed."""

    method: str
    headers: Headers
    body: bytes


@dataclass(frozen=True)
class Admission:
    """The checks of one endpoint. At least one of `webhooks` and `assertions` is there, and each that is must pass."""

    webhooks: Webhooks | None
    assertions: "Assertions | None"
    replays: ReplayStore

    @property
    def may_wait(self) -> bool:
        """Whether a check may go to the network, so that an event loop should not run it itself."""
        return self.assertions is not None

    def manifest(self, request: Request) -> None:
        """Raises ToolError 401 unless the request for the manifest is Median's."""
        if self.webhooks:
            self.webhooks.verify(request.headers, request.body)
        if self.assertions:
            self.assertions.verify(request.headers, audience=SYNC)

    def call(self, request: Request) -> Call:
        """The call of a request that is Median's and new.

        Raises ToolError: 401 not proven, 400 not a call, 409 `replayed`, 413 too large, 503 for now impossible to say.
        """
        if len(request.body) > MAX_BODY:
            raise too_large()
        seen: dict[str, float] = {}
        if self.webhooks:
            message_id, until = self.webhooks.verify(request.headers, request.body)
            seen[message_id] = until
        call = parse(request.body)
        if self.assertions:
            until = self.assertions.verify_call(request.headers, call, request.body)
            seen[call.context.tool_call_id] = max(until, seen.get(call.context.tool_call_id, until))
        new = [self._is_new(call_id, until=until) for call_id, until in seen.items()]
        if not all(new):
            raise ToolError("replayed", "This call has arrived before. It was not run again.", status=409)
        return call

    def _is_new(self, call_id: str, *, until: float) -> bool:
        try:
            return self.replays.add(call_id, until=until)
        except ToolError:
            raise
        except Exception as error:
            log.error("replays.add failed for %s", call_id, exc_info=error)
            raise ToolError("busy", "Nobody can tell whether this call is new.", status=503) from None


def assertions_of(issuer: str) -> "Assertions":
    """The check of an issuer's assertions. Raises ImportError that says what to install."""
    try:
        module = import_module("median_tools.assertions")
    except ModuleNotFoundError as error:
        raise ImportError("An issuer needs PyJWT and httpx: pip install 'median-tools[jwt]'") from error
    found: Assertions = module.of_issuer(issuer)
    return found


def too_large() -> ToolError:
    return ToolError("too_large", f"The body may have {MAX_BODY} bytes.", status=413)
